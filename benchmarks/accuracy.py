"""How far estimates of tokens are off, by model family and kind of text: the default, ctok, and characters / 4.

python -m benchmarks.accuracy [--fixtures DIR] [--write] [--fit] [--check]

Against the counts of the API that come with ctok's source distribution (fetched with pip unless ``--fixtures`` names
it unpacked), on texts that were held out of the fit. English and JSON, of which those hold too little, are held against
ctok and said to be. ``--write`` replaces the table in ``docs/figures.md``; ``--fit`` makes
``analyzers/token_factors.py`` anew; ``--check`` exits with 1 when a bar is not met.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from analyzers.tokenizer import encoding
from analyzers.tokens import Family, tokens_of, weigh, weigh_closely
from benchmarks.table import replaced
from benchmarks.token_fit import PRIORS, examples, fitted, module
from benchmarks.token_texts import Counted, fetched, package_texts, recorded_texts

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "figures.md"
FAMILIES: dict[str, Family] = {"v3": "v3", "v4.7": "v4.7", "v5": "v4.8"}
MODELS = {"v3": "up to 4.6 (Opus 4.5)", "v4.7": "4.7 (Opus 4.7)", "v5": "4.8 and 5.x (Opus 5)"}
BARS = {"code": 7.0, "prose, Latin": 7.0, "prose, Chinese": 10.0}
CTOK_BAR = 1.0


@dataclass(frozen=True, slots=True)
class Errors:
    """Median and 95th percentile of the absolute relative errors, in percent."""

    middle: float
    p95: float


@dataclass(frozen=True, slots=True)
class Line:
    """One family and kind of text. ``ctok`` None: the counts are ctok's own."""

    family: str
    kind: str
    texts: int
    recorded: bool
    held_out: bool
    default: Errors
    ctok: Errors | None
    quarter: Errors


def errors(pairs: Iterable[tuple[int, int]]) -> Errors:
    """Of (estimated, counted)."""
    found = sorted(100 * abs(estimated - counted) / counted for estimated, counted in pairs)
    return Errors(median(found), found[min(len(found) - 1, int(0.95 * len(found)))])


def lines(texts: Sequence[Counted]) -> list[Line]:
    """What was held out, and the scripts that have one language, which had to be fitted."""
    groups: dict[tuple[str, bool], list[Counted]] = {}
    for text in texts:
        groups.setdefault((text.kind, text.recorded), []).append(text)
    out = []
    for (kind, recorded), members in groups.items():
        held = [text for text in members if not text.fitted]
        apart = len(held) >= 3
        shown = held if apart else members
        weights = [(weigh_closely if recorded else weigh)(text.text) for text in shown]
        for family, name in FAMILIES.items():
            counts = [text.tokens[family] for text in shown]
            default = [tokens_of(weigh(text.text), name) for text in shown]
            close = [tokens_of(weight, name) for weight in weights]
            quarter = [round(len(text.text) / 4) for text in shown]
            ctok = errors(zip(close, counts, strict=True)) if recorded else None
            out.append(
                Line(family, kind, len(shown), recorded, apart, errors(zip(default, counts, strict=True)), ctok,
                     errors(zip(quarter, counts, strict=True)))
            )  # fmt: skip
    return out


def table(found: Sequence[Line]) -> str:
    """Markdown, median / 95th percentile."""
    out = [
        "| models | kind of text | texts | counted by | default | ctok | characters / 4 |",
        "|---|---|---|---|---|---|---|",
    ]
    order = {family: index for index, family in enumerate(FAMILIES)}
    for line in sorted(found, key=lambda line: (order[line.family], not line.recorded, line.kind)):
        counted = "API" if line.recorded else "ctok"
        kind = line.kind if line.held_out else f"{line.kind} (fitted)"
        shown = [_cell(line.default), _cell(line.ctok), _cell(line.quarter)]
        out.append(f"| {MODELS[line.family]} | {kind} | {line.texts} | {counted} | {' | '.join(shown)} |")
    return "\n".join(out)


def _cell(found: Errors | None) -> str:
    return "" if found is None else f"{found.middle:.1f} / {found.p95:.1f} %"


def missed(found: Sequence[Line]) -> list[str]:
    """The bars that were not met, in words."""
    out = []
    for line in found:
        bar = BARS.get(line.kind)
        if line.recorded and bar is not None and line.default.middle > bar:
            out.append(f"{line.family}, {line.kind}: median {line.default.middle:.1f} %, must be at most {bar:.0f} %")
        if line.ctok is not None and line.ctok.middle > CTOK_BAR:
            out.append(f"{line.family}, {line.kind}: ctok {line.ctok.middle:.1f} %")
    return out


def fit(texts: Sequence[Counted]) -> str:
    """The module of factors, from the texts that are to be fitted."""
    chosen = [text for text in texts if text.fitted]
    whole = {text.kind + text.name: len(encoding().encode_ordinary(text.text)) for text in chosen}
    return module({name: fitted(examples(chosen, name, whole), prior) for name, prior in PRIORS.items()})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.split("\n")[0])
    parser.add_argument("--fixtures", type=Path, help="ctok's source distribution, unpacked")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args(arguments)
    texts = [*recorded_texts(asked.fixtures or fetched()), *package_texts()]
    if asked.fit:
        path = ROOT / "analyzers" / "token_factors.py"
        path.write_text(fit(texts), "utf-8")
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(path)], check=True)
        print("fitted: run again to measure")
        return 0
    found = lines(texts)
    print(table(found))
    if asked.write:
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), table(found)), "utf-8")
    failures = missed(found)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures and asked.check else 0


if __name__ == "__main__":
    sys.exit(main())
