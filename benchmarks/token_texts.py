"""Texts with their counts of tokens, for fitting the factors of ``analyzers.token_factors`` and measuring their error.

Counts of the API: the recordings that come with ctok's source distribution (MIT), made with ``count_tokens`` of Claude
Opus 4.5, 4.7 and 5: the Universal Declaration of Human Rights in 501 languages, and programs (Rosetta Code, MultiPL-E).
They hold little English and no JSON, so texts of the installed packages are added whose counts are ctok's own.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

CTOK = "1.3.0"
FRAMES = {"v3": 7, "v4.7": 11, "v5": 6}
CHINESE = frozenset(("Hans", "Hant", "Hani"))
SEVERAL = frozenset(("Latn", "Cyrl", "Arab", "Deva")) | CHINESE
"""Scripts of several languages: some are fitted, others held out. The only language of a script is always fitted."""

ALONE = frozenset(("vi",))
"""Always fitted: no other language is written like these."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A text with its tokens by family, without frames. ``recorded``: they are the API's, not ctok's."""

    kind: str
    name: str
    text: str
    tokens: dict[str, int]
    recorded: bool
    fitted: bool
    speakers: int = 0


def recorded_texts(root: Path) -> Iterator[Counted]:
    """The recordings of ctok's source distribution, unpacked at ``root``."""
    for corpus, key in (("udhr", "f"), ("rosetta", "id"), ("rosetta_holdout", "id"), ("multipl_e", "lang")):
        folder = root / "tests" / "fixtures"
        counts = json.loads((folder / f"{corpus}_counts.json").read_text("utf-8"))
        with gzip.open(folder / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                tokens = {name: counts[name]["counts"][row[key]] - frame for name, frame in FRAMES.items()}
                kind = _language_kind(row) if corpus == "udhr" else "code"
                fitted = _is_fitted(row) if corpus == "udhr" else corpus == "rosetta"
                name = f"{corpus} {row[key]}"
                yield Counted(kind, name, row["text"], tokens, True, fitted, row.get("speakers") or 0)


def _language_kind(row: dict[str, Any]) -> str:
    kinds = {"Latn": "prose, Latin", "Cyrl": "prose, Cyrillic", "Arab": "prose, Arabic", "Jpan": "prose, Japanese"}
    return "prose, Chinese" if row["script"] in CHINESE else kinds.get(row["script"], "prose, other scripts")


def _is_fitted(row: dict[str, Any]) -> bool:
    """Half of the languages of a script, by their tag; dialects without a tag by their number."""
    if row["script"] not in SEVERAL or row["bcp47"] in ALONE:
        return True
    return _half(row["bcp47"] if row["bcp47"] != "und" else row["f"])


def _half(name: str) -> bool:
    return sha256(name.encode()).digest()[0] % 2 == 1


def package_texts(most: int = 150) -> Iterator[Counted]:
    """Beginnings of texts of the installed packages, and made-up data, counted by ctok."""
    from ctok import token_count

    frames = {"v3": token_count("a", "3.0") - 1, "v4.7": token_count("a", "4.7") - 1}
    for kind, name, text in _found(most):
        tokens = {
            "v3": token_count(text, "3.0") - frames["v3"],
            "v4.7": token_count(text, "4.7") - frames["v4.7"],
        }
        yield Counted(kind, name, text, tokens | {"v5": tokens["v4.7"]}, False, _half(name))


def _found(most: int) -> Iterator[tuple[str, str, str]]:
    files: dict[str, list[tuple[str, Path]]] = {}
    for distribution in distributions():
        for file in distribution.files or ():
            kind = _KINDS.get(file.suffix) or ("English" if file.name in ("METADATA", "LICENSE") else None)
            if kind is not None and distribution.name not in ("ctok", "weighbridge"):
                files.setdefault(kind, []).append((f"{distribution.name}/{file}", Path(str(file.locate()))))
    for kind, found in files.items():
        found.sort(key=lambda item: sha256(item[0].encode()).digest())
        taken = 0
        for name, path in found:
            text = _beginning(path)
            if text is not None and taken < most:
                taken += 1
                yield kind, name, text
    yield from _schemas()
    yield from _made_up()


_KINDS = {
    ".py": "Python", ".pyi": "Python", ".json": "JSON", ".md": "English", ".rst": "English", ".txt": "English",
    ".js": "JavaScript", ".html": "HTML, CSS", ".css": "HTML, CSS", ".h": "C", ".pxd": "C",
}  # fmt: skip


def _beginning(path: Path) -> str | None:
    """Some thousand characters from within a file; None for one that is too short, or no text."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if path.name == "METADATA":
        text = text.partition("\n\n")[2]
    if len(text) < 600:
        return None
    length = 1_500 + sha256(path.name.encode()).digest()[1] * 24
    start = text.find("\n", max(0, (len(text) - length) // 3)) + 1
    text = text[start : start + length]
    return text if len(text) > 300 else None


def _schemas() -> Iterator[tuple[str, str, str]]:
    """JSON schemas as tools have them, compact and with blanks."""
    import anthropic.types
    from pydantic import TypeAdapter

    for index, name in enumerate(sorted(dir(anthropic.types))):
        model = getattr(anthropic.types, name)
        if isinstance(model, type) and index % 4 == 0:
            try:
                schema = TypeAdapter(model).json_schema()
            except Exception:  # what has no schema is left out
                continue
            yield "JSON", f"schema {name}", json.dumps(schema)[:6_000]
            yield "JSON", f"schema {name}, compact", json.dumps(schema, separators=(",", ":"))[:6_000]


def _made_up() -> Iterator[tuple[str, str, str]]:
    chance = random.Random(1)
    emoji = "😀🚀🎉✅❌👍🔥💡📦🐛✨"
    for index in range(12):
        yield "base64, hex, ids", f"base64 {index}", base64.b64encode(chance.randbytes(1_500)).decode()
        yield "base64, hex, ids", f"hex {index}", " ".join(chance.randbytes(16).hex() for _ in range(60))
        ids = (str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(40))
        yield "base64, hex, ids", f"uuid {index}", "\n".join(ids)
        numbers = (f"{chance.uniform(0, 10_000):.{chance.randrange(4)}f}" for _ in range(300))
        yield "numbers", f"numbers {index}", ", ".join(numbers)
        yield "emoji", f"emoji {index}", "".join(chance.choice(emoji) + chance.choice(" \n") for _ in range(300))


def fetched() -> Path:
    """ctok's source distribution, fetched with pip and unpacked in a temporary folder that stays."""
    folder = Path(tempfile.mkdtemp(prefix="ctok-"))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "ctok"]
    subprocess.run([*command, "--dest", str(folder), f"ctok=={CTOK}"], check=True)
    with tarfile.open(next(folder.glob("ctok-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())
