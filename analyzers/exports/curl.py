"""A recorded request as a shell script that sends it again with curl.

Whatever comes from traffic is quoted for the shell, and what no request can carry is refused instead: a control
character in a header, a path that is none. Comments hold only words of letters and digits, because interactive shells
may run what stands in one. Credentials are never in a record: the script takes them from the environment, and has an
address of its own for the vendor's API only, so that a record made elsewhere cannot lead a key to another host. The
same holds for what a record does not have: a folded text or a masked token is refused, never filled in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from analyzers.exchange import Exchange, Request
from analyzers.exports.printable import printable
from analyzers.failure import safe
from analyzers.wire.fold import Elided
from analyzers.wire.headers import keep_query
from analyzers.wire.jsontext import Json, dump
from analyzers.wire.moment import timestamp

API = "api.anthropic.com"
VERSION = "2023-06-01"
"""What a request without ``anthropic-version`` gets; the API refuses it otherwise."""

_TOLD = 3
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")  # RFC 9110 §5.6.2
_WORD = re.compile(r"[A-Za-z0-9._/:@-]{1,200}")
_OF_OTHERS = {
    "bedrock": "was sent to Amazon Bedrock, where each request is signed: send it with `aws bedrock-runtime`",
    "vertex": "was sent to Google Vertex AI, which takes credentials of its own: send it with Google's client",
}
_CHANGED = {
    "duplicate_key": "A member that stood in an object twice was sent, and only the last of its values is here.",
    "double_serialised": "The JSON was sent inside a JSON string: here it is without.",
    "trailing_text": "Text behind the JSON was sent with it, and is not here.",
    "bom": "A byte order mark was sent before the JSON, and is not here.",
}


class NotRunnable(ValueError):
    """The request cannot be sent again as it was. The message is one sentence that says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Again:
    """A request to be sent again. ``title``: what it is, in plain words; ``host`` None: the record names none;
    ``target``: path and query; ``headers``: of those recorded, the ones that change the answer; ``credential``: the
    header to be filled in.

    ``body`` None: it has none; ``sent``: bytes of the one that was sent, decoded, None: unknown. ``remarks``: sentences
    about what else differs.
    """

    title: str
    method: str
    host: str | None
    target: str
    headers: tuple[tuple[str, str], ...]
    credential: str
    body: bytes | None
    sent: int | None
    remarks: tuple[str, ...]


def again(exchange: Exchange, n: int) -> Again:
    """What of a recorded request has to be sent. ``n``: its number. Raises NotRunnable."""
    request = exchange.request
    if request is None:
        raise NotRunnable(f"of exchange {n} only the answer was recorded: there is no request to send again")
    method = request.method.upper()
    if request.route in _OF_OTHERS:
        raise NotRunnable(f"request {n} {_OF_OTHERS[request.route]}")
    if method not in ("GET", "POST"):
        raise NotRunnable(f"request {n} is a {method[:20]}, and only GET and POST can be sent again")
    body = _body(request, n)
    query, about_query = _query(request.query)
    headers, about_headers = _headers(request, n, has_body=body is not None)
    return Again(
        title=_title(request, n),
        method=method,
        host=request.host,
        target=_path(request, n) + query,
        headers=headers,
        credential="authorization" if _bears_token(request) else "x-api-key",
        body=body,
        sent=request.wire_bytes if request.content_encoding is None else request.decoded_bytes,
        remarks=(*_about(exchange, request), *about_query, *about_headers),
    )


def as_sent(body: bytes, sent: int | None) -> bool | None:
    """Whether a body is, byte for byte, the one of ``sent`` bytes that was sent. None: that cannot be told. It is the
    shortest JSON of the value, so any other of the same length differs but in the letters of its escapes."""
    if sent is None or (len(body) == sent and b"\\u" in body):
        return None
    return len(body) == sent


def script(request: Again, body_file: str | None) -> str:
    """A script for any POSIX shell. ``body_file``: the name of the file beside it that holds the body; None: the body
    is in the script, which can then be pasted or piped to a shell, with what steers a terminal written as escapes."""
    pasted = None
    if request.body is not None and body_file is None:
        pasted = printable(request.body.decode()).encode()
    lines = [request.title, *_needs(request), *_about_bytes(request, pasted), *request.remarks]
    parts = ["curl --fail-with-body -sS -N --globoff", _address(request) + shlex.quote(request.target)]
    parts.append(f'-H "{_CREDENTIAL[request.credential]}"')
    parts += [
        f"-H {shlex.quote(f'{name}: {value}' if value.strip() else f'{name};')}" for name, value in request.headers
    ]
    if request.method == "GET" and request.body is not None:
        parts.append("-X GET")
    if pasted is not None:
        parts.append("--data-binary @-")
    elif request.body is not None:
        parts.append(f'--data-binary "@$(dirname -- "$0")"/{shlex.quote(str(body_file))}')
    command = " \\\n  ".join(parts) + "\n"
    if pasted is not None:
        command = f"printf %s {shlex.quote(pasted.decode())} |\n{command}"
    return "".join(("#!/bin/sh\n" if body_file is not None else "", *(f"# {line}\n" for line in lines), command))


_CREDENTIAL = {
    "x-api-key": "x-api-key: ${ANTHROPIC_API_KEY:?set it to your key}",
    "authorization": "Authorization: Bearer "
    "${ANTHROPIC_AUTH_TOKEN:-${ANTHROPIC_API_KEY:?set it, or ANTHROPIC_AUTH_TOKEN}}",
}


# What is sent


def _body(request: Request, n: int) -> bytes | None:
    if request.reason is None:
        _is_whole(request.body, n)
        return dump(request.body)
    if request.method.upper() == "GET" and not request.wire_bytes:
        return None
    if request.wire_bytes == 0:
        return b""
    raise NotRunnable(f"the body of request {n} is not known: {request.reason}")


def _is_whole(body: Json, n: int) -> None:
    """Raises NotRunnable when a text was folded or a credential masked."""
    folded, masked = _missing(body)
    told = [safe(path) for path in masked[:_TOLD]]
    if len(masked) > _TOLD:
        told.append(f"{len(masked) - _TOLD} more")
    fill_in = f"{', '.join(told)} {'was' if len(masked) == 1 else 'were'} masked, as every credential is"
    if folded:
        texts = "1 text of it was" if folded == 1 else f"{folded} texts of it were"
        also = f"; and {fill_in}" if masked else ""
        raise NotRunnable(
            f"request {n} cannot be sent again: {texts} folded when it was recorded{also}. "
            "Record it with --set capture_fold_over=-1, which keeps every text"
        )
    if masked:
        raise NotRunnable(
            f"request {n} cannot be sent again as it was: {fill_in}; "
            "take the body from `export --to har`, and fill that in yourself"
        )


def _missing(body: Json) -> tuple[int, list[str]]:
    """How many texts were folded, and the paths of the credentials that were masked."""
    folded = 0
    masked: list[str] = []
    stack: list[tuple[Json, _Step | None]] = [(body, None)]
    while stack:
        node, step = stack.pop()
        if type(node) is Elided:
            if node.sha256 is None and node.label == "credential":
                masked.append(_written(step))
            else:
                folded += 1
        elif type(node) is dict:
            folded += sum(type(key) is Elided for key in node)
            stack.extend((member, (step, key)) for key, member in reversed(node.items()))
        elif type(node) is list:
            stack.extend((node[index], (step, index)) for index in range(len(node) - 1, -1, -1))
    return folded, masked


type _Step = tuple[_Step | None, object]
"""Where a value stands: where its container does, and its name or place in that."""


def _written(step: _Step | None) -> str:
    parts: list[str] = []
    while step is not None:
        step, key = step
        parts.append(f"[{key}]" if type(key) is int else f".{str(key)[:40]}")
    return "".join(reversed(parts)).lstrip(".")


def _path(request: Request, n: int) -> str:
    path = request.path
    if not path.startswith("/") or safe(path) != path or "…" in path:
        raise NotRunnable(f"the path of request {n} is none that can be sent again ({path[:80]})")
    if request.host in (None, API):
        return path
    # a base URL holds what stands before this, as it does for the clients
    return path[max(path.rfind("/v1/"), 0) :]


def _query(query: str) -> tuple[str, list[str]]:
    pairs = keep_query(query).split("&") if query else []
    kept = [pair for pair in pairs if "…" not in pair]
    missing = [_word(pair.partition("=")[0]) for pair in pairs if "…" in pair]
    remarks = [f"Parameters whose values were not recorded are left out: {' '.join(missing)}"] if missing else []
    return ("?" + "&".join(kept) if kept else ""), remarks


def _headers(request: Request, n: int, *, has_body: bool) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The headers that the API acts upon, and what is said of the others. The rest tell of the client."""
    sent: list[tuple[str, str]] = []
    others: list[str] = []
    for name, value in request.headers.items():
        if not (name == "content-type" and has_body) and not name.startswith("anthropic-"):
            others.append(_word(name))
            continue
        for one in value if isinstance(value, list) else [value]:
            if not _NAME.fullmatch(name) or type(one) is not str or safe(one) != one:
                raise NotRunnable(
                    f"header {name[:40]!r} of request {n} holds what no header can: it is no such request"
                )
            sent.append((name, one))
    remarks = []
    if not any(name == "anthropic-version" for name, _ in sent):
        sent.insert(0, ("anthropic-version", VERSION))
        remarks.append(f"The record has no anthropic-version: {VERSION} was put in.")
    if has_body and not any(name == "content-type" for name, _ in sent):
        sent.append(("content-type", "application/json"))
    others += [_word(name) for name in request.other_headers if name not in ("x-api-key", "authorization")]
    if others:
        remarks.append(f"Headers of the client that are left out: {' '.join(sorted(others))}")
    return tuple(sent), remarks


def _bears_token(request: Request) -> bool:
    """Whether the credential was a token: the newer SDKs send API keys so too."""
    return "authorization" in request.other_headers and "x-api-key" not in request.other_headers


# What is written


def _about(exchange: Exchange, request: Request) -> Iterator[str]:
    """What the body is not, that was sent."""
    if exchange.logged is not None:
        yield "Put together from the log of the client, which keeps no metadata, no stream and no headers."
    for code in dict.fromkeys(note.code for note in request.notes):
        if code in _CHANGED:
            yield _CHANGED[code]
    if type(request.body) is dict and "messages" in request.body and "model" not in request.body:
        yield "The record names no model: add one to the body."
    if request.content_encoding is not None:
        yield "The body was sent compressed, and is sent plain."


def _about_bytes(request: Again, pasted: bytes | None) -> Iterator[str]:
    body, sent = request.body if pasted is None else pasted, request.sent
    if not body:
        return
    known = as_sent(body, sent)
    if sent is None:
        yield "Whether the body is byte for byte what was sent is not known. It is the same JSON value."
    elif known:
        yield f"The {sent} bytes of the body are those that were sent."
    elif known is None:
        yield f"The body has the {sent} bytes that were sent, but for the letters in its escapes."
    else:
        yield f"The body is the JSON value that was sent, in {len(body)} bytes for {sent}: escapes or blanks differ."


def _address(request: Again) -> str:
    """The base of the URL, in quotes."""
    if request.host in (None, API):
        return f'"${{ANTHROPIC_BASE_URL:-https://{API}}}"'
    host = request.host if request.host is not None and _HOST.fullmatch(request.host) else "an odd host"
    return f'"${{ANTHROPIC_BASE_URL:?set it to where this shall go - it was recorded on its way to {host}}}"'


def _needs(request: Again) -> Iterator[str]:
    key = "ANTHROPIC_API_KEY"
    if request.credential == "authorization":
        key = "ANTHROPIC_AUTH_TOKEN, or else ANTHROPIC_API_KEY,"
    otherwise = f", or else to https://{API}" if request.host in (None, API) else ""
    yield f"Takes {key} from the environment. Goes to ANTHROPIC_BASE_URL{otherwise}."


def _title(request: Request, n: int) -> str:
    when = f", recorded {timestamp(request.time)}" if request.time is not None else ""
    return f"Request {n}{when}: {_word(request.method)} {_word(request.path)}, {_word(request.model or 'no model')}"


def _word(text: str) -> str:
    """A text of traffic in a comment: itself when it is a plain word."""
    return text if _WORD.fullmatch(text) or text == "no model" else "…"
