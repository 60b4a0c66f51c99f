"""mitmdump as `launch` starts it: what is wrong with the options is told before anything listens, and its log is short.

A program of its own, so that what must be imported to know mitmproxy's options is imported once, where it is needed
anyway. What it has to say to whoever started it goes into a file beside the one that tells its address (`ready`).
"""

import difflib
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.append(ROOT)

REFUSED = 2
"""The exit code when an option is wrong."""


def given(arguments: Sequence[str]) -> tuple[str, ...]:
    """What stands behind each `--set` of a command line."""
    return tuple(value for flag, value in pairwise(arguments) if flag == "--set")


def mistake(specs: Sequence[str]) -> str | None:
    """One sentence about the first of these options (`name=value`) that is surely wrong, None when none is. What
    mitmproxy's own addons and other scripts have is known only once they are loaded: that is `unknown`'s."""
    from mitmproxy.exceptions import OptionsError
    from mitmproxy.options import Options

    from addon.settings import OPTIONS, misspelt, parse

    texts: dict[str, list[str | None]] = {}
    for spec in specs:
        name, equals, value = spec.partition("=")
        texts.setdefault(name, []).append(value if equals else None)
    ours = {option.name for option in OPTIONS} & texts.keys()
    for name in sorted(ours):
        if len(texts[name]) > 1:
            return f"{name} is given {len(texts[name])} times: leave one."
    try:
        parse({name: texts[name][0] for name in ours})
        Options().set(*specs, defer=True)
    except (ValueError, OptionsError) as error:
        return str(error)
    if "scripts" in texts:  # mitmproxy takes those of -s instead, and says nothing
        return "--set scripts has no place beside the recorder's own: run mitmdump with -s for each script, ours first."
    return misspelt(texts.keys() - ours)


def unknown(names: Iterable[str], known: Iterable[str]) -> str | None:
    """One sentence about the first of these names of options that nobody knows."""
    known = frozenset(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.75)
            hint = f"did you mean {near[0]}?" if near else "`mitmdump --options` lists those of mitmproxy."
            return f"There is no option {name}: {hint}"
    return None


def refuse(sentence: str) -> None:
    """Tells whoever started mitmdump why it does not start."""
    refused = Path(os.environ["WEIGHBRIDGE_READY"]).with_suffix(".refused")
    draft = refused.with_suffix(".draft")
    draft.write_text(sentence, encoding="utf-8", errors="backslashreplace")
    draft.replace(refused)


def main() -> None:
    """Runs mitmdump with this process's arguments."""
    sys.argv[0] = "mitmdump"
    if problem := mistake(given(sys.argv)):
        refuse(problem)
        sys.exit(REFUSED)

    from mitmproxy.tools.main import mitmdump

    # mitmproxy tells of each script and each connection; what is left is one line per exchange, and warnings.
    for name in ("mitmproxy.addons.script", "mitmproxy.proxy.server"):
        logging.getLogger(name).setLevel(logging.WARNING)
    mitmdump()


if __name__ == "__main__":
    main()
