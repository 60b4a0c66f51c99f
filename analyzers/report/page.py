"""The document as one HTML page that needs nothing else and can ask for nothing.

The page's policy is its own: nothing is loaded, and only the script and the style that stand in it may run, told by
their hashes, so that a browser refuses whatever else might have found its way in. The document is data in a script
element that is never run; the page's script puts it into the DOM as text only. A live page may ask its own server for
a newer document, and nothing else.
"""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

import orjson

_PARTS: Final = files("analyzers.report") / "template"
_SCRIPTS: Final = (
    "elements.js",
    "charts.js",
    "icicle.js",
    "request.js",
    "thread.js",
    "whole.js",
    "paper.js",
    "page.js",
)
_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)
"""What could end a script element, or a line of a script, inside JSON."""


def page(told: dict[str, Any], *, live: bool = False) -> bytes:
    """The page, in UTF-8. ``live``: it looks for a newer document by itself."""
    style = _part("page.css")
    script = "\n".join(map(_part, _SCRIPTS))
    out = _part("page.html")
    for name, text in (
        ("POLICY", policy(live=live)),
        ("STYLE", style),
        ("LIVE", "true" if live else "false"),
        ("SCRIPT", script),
        ("DOCUMENT", embedded(told).decode()),
    ):
        before, mark, after = out.partition(f"@@{name}@@")
        assert mark, name
        out = before + text + after
    return out.encode()


def policy(*, live: bool) -> str:
    """The page's Content-Security-Policy."""
    script = "\n".join(map(_part, _SCRIPTS))
    asks = "; connect-src 'self'" if live else ""
    runs = f"script-src {_hash(script)}; style-src {_hash(_part('page.css'))}"
    return f"default-src 'none'; img-src data:; {runs}{asks}; base-uri 'none'"


def embedded(told: Any) -> bytes:
    """JSON that stays data inside a script element, whatever is in it."""
    try:
        text = orjson.dumps(told)
    except TypeError:  # a number beyond 64 bits
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    for char, escape in _ESCAPES:
        text = text.replace(char, escape)
    return text


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
