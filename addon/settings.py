"""The ``capture_*`` and ``guard_*`` options: declared, parsed, and checked for misspelt names.

mitmproxy starts without the addon, and without a word, when a script's number or switch cannot be read, and when a text
option is given twice or without a value. So every option is declared as text that may be missing and is parsed here, by
functions that know nothing of mitmproxy's life cycle and raise ValueError with one sentence a user can act on.
"""

import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple, cast

from mitmproxy import flowfilter

from analyzers.budget import Limits, Mode

PREFIXES: Final = ("capture_", "guard_")
BYTES_PER_MB: Final = 1_000_000


class Option(NamedTuple):
    """How one option is shown in ``mitmdump --options`` and in the option editor."""

    name: str
    default: str
    help: str


OPTIONS: Final = (
    Option(
        "capture_dir",
        "captures",
        "Folder for the capture files. It is made, readable by you alone, with the first record.",
    ),
    Option(
        "capture_fold_over",
        "400",
        "Strings of more than this many characters are recorded as length and hash. 0 folds every string, -1 none.",
    ),
    Option(
        "capture_compress",
        "true",
        "Write .jsonl.zst (true) or plain .jsonl (false).",
    ),
    Option(
        "capture_rotate_mb",
        "256",
        "Begin a new capture file when one has reached this many megabytes on disk. 0 never does.",
    ),
    Option(
        "capture_notes",
        "true",
        "Note the tokens and the kinds of personal data of folded texts, once each, after they were forwarded.",
    ),
    Option(
        "capture_redact",
        "false",
        "Scramble every text before it is written (as `weighbridge redact` does): only figures reach the disk.",
    ),
    Option(
        "capture_match",
        "",
        "A mitmproxy filter expression: record the requests that match it, instead of those whose path is one of the "
        "Messages API.",
    ),
    Option(
        "capture_taken",
        "",
        "How the client was led to this proxy, in a few words, for the first line of each capture file.",
    ),
    Option(
        "guard_max_input_tokens",
        "",
        "Most input tokens, estimated before it is forwarded, that one request may have. Empty: no limit.",
    ),
    Option(
        "guard_max_usd_per_session",
        "",
        "Most US dollars at list price that one session may spend. Empty: no limit.",
    ),
    Option(
        "guard_mode",
        "warn",
        "What happens beyond a limit: warn (once, in the log) or block (the request is answered with an error).",
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options, read. ``folder`` is absolute, ``rotate_bytes`` 0 means never, ``match`` None means by route;
    ``limits_text``: the guard's options, where a limit is set, as they were given."""

    folder: Path
    fold_over: int
    compress: bool
    rotate_bytes: int
    match: flowfilter.TFilter | None = field(compare=False)
    match_text: str
    limits: Limits = field(default_factory=Limits)
    notes: bool = True
    redact: bool = False
    taken: str = ""
    limits_text: Mapping[str, str] = field(default_factory=dict)


def parse(values: Mapping[str, str | None]) -> Settings:
    """The settings that option texts, by name, stand for; an option that is not there has its default.

    Raises ValueError: one sentence that quotes the text and says what would be right.
    """
    given = {option.name: values.get(option.name, option.default) for option in OPTIONS}
    text = {name: _present(name, value) for name, value in given.items()}
    limits = Limits(
        _max_tokens(text["guard_max_input_tokens"]),
        _max_usd(text["guard_max_usd_per_session"]),
        _mode(text["guard_mode"]),
    )
    guarding = {name: value for name, value in text.items() if name.startswith("guard_") and value}
    return Settings(
        folder=_folder(text["capture_dir"]),
        fold_over=_fold_over(text["capture_fold_over"]),
        compress=_switch("capture_compress", text["capture_compress"]),
        rotate_bytes=_rotate_bytes(text["capture_rotate_mb"]),
        match=_match(text["capture_match"]),
        match_text=text["capture_match"],
        limits=limits,
        notes=_switch("capture_notes", text["capture_notes"]),
        redact=_switch("capture_redact", text["capture_redact"]),
        taken=text["capture_taken"],
        limits_text=guarding if limits.are_set else {},
    )


def misspelt(names: Iterable[str]) -> str | None:
    """One sentence about the first of these option names, known to nobody, that was surely meant for this addon."""
    known = [option.name for option in OPTIONS]
    for name in names:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.75)
        if near or name.startswith(PREFIXES):
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            return f"There is no option {name}: {hint}"
    return None


def _present(name: str, value: str | None) -> str:
    if value is None:
        raise ValueError(f"{name} needs a value: --set {name}=…")
    return value.strip()


def _folder(text: str) -> Path:
    path = os.path.expanduser(text)
    if not path:
        raise ValueError("capture_dir is empty: give the folder that the capture files go to.")
    if path.startswith("~") or "\0" in path:
        raise ValueError(f"capture_dir={text}: there is no such home folder.")
    return Path(os.path.abspath(path))


def _fold_over(text: str) -> int:
    if not re.fullmatch(r"-1|[0-9]{1,12}", text):
        raise ValueError(
            f"capture_fold_over={text}: must be a whole number of characters, like 400; 0 folds every string, -1 none."
        )
    return int(text)


def _switch(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{name}={text}: must be true or false.")
    return text.lower() == "true"


def _rotate_bytes(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text):
        raise ValueError(f"capture_rotate_mb={text}: must be a number of megabytes, like 256; 0 means one file only.")
    return math.ceil(float(text) * BYTES_PER_MB)


def _max_tokens(text: str) -> int | None:
    if not re.fullmatch(r"([0-9]{1,12})?", text):
        raise ValueError(f"guard_max_input_tokens={text}: must be a whole number of tokens, like 100000, or empty.")
    return int(text) if text else None


def _max_usd(text: str) -> Decimal | None:
    if not re.fullmatch(r"([0-9]{1,9}(\.[0-9]{1,6})?)?", text):
        raise ValueError(f"guard_max_usd_per_session={text}: must be an amount in US dollars, like 2.50, or empty.")
    return Decimal(text) if text else None


def _mode(text: str) -> Mode:
    if text.lower() not in ("warn", "block"):
        raise ValueError(f"guard_mode={text}: must be warn or block.")
    return cast(Mode, text.lower())


def _match(text: str) -> flowfilter.TFilter | None:
    if not text:
        return None
    try:
        return flowfilter.parse(text)
    except ValueError:
        raise ValueError(
            f"capture_match={text}: is no mitmproxy filter expression (they look like '~u /v1/messages & ~m POST')."
        ) from None
