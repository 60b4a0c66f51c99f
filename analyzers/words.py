"""Which strings of a request may be shown where nothing of its content may be: identifiers, words of the API, labels.

Told by form, since a place alone proves nothing: a client can put a letter where a type belongs.
"""

from __future__ import annotations

import re

from analyzers.wire.jsontext import Json

_WORD = re.compile(r"[A-Za-z0-9_.:/@+-]{1,128}")
_MEASURED = re.compile(r"[A-Za-z0-9_.:/@+-]{1,128}( [0-9]+x[0-9]+|, [0-9]+ pages)?")
_LABEL = re.compile(r"[A-Za-z0-9_.:/@, +-]{1,60}")


def word(value: Json) -> str | None:
    """A string that looks like an identifier or a word of the API; None for anything else, texts above all."""
    return value if type(value) is str and _WORD.fullmatch(value) else None


def label(what: str | None, kind: str) -> str | None:
    """What a row of the ledger is (``blocks.Row.what``), when it can be shown. Of texts it is a label of this program;
    of other blocks it comes from the request: a tool's name, a media type with its measures."""
    if what is None:
        return None
    texts = kind in ("text", "tool_result", "search_result") or kind.endswith("_tool_result")
    form = _LABEL if texts else _MEASURED
    return what if form.fullmatch(what) else None
