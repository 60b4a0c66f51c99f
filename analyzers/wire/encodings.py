"""Content codings (RFC 9110 §8.4), undone while the bytes pass, whatever the header says.

A chunk goes in; what it decodes to comes out at once to a sink, in pieces of about 64 KiB at most, so that memory stays
flat while a small body swells. Stacked codings are stacked layers, the last named one first. Each layer holds back its
first bytes (4 or 16) until it knows by their magic what they are; the label decides only where no magic does. Where its
decoder stands at the end tells whether the body was whole.

The cost is O(bytes). A library that meets damage forgets what it had decoded in that call, so that where the calls were
cut would show in the result. Hence a layer keeps what it fed (still compressed, so small) and, on damage only, feeds it
again: in blocks, and byte by byte within the block that failed. Out comes everything before the damage, however the
body was cut into chunks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from analyzers.wire.inflate import DECODERS, ERRORS, MemberDecoder
from analyzers.wire.note import Note, Notebook

DEFAULT_LIMIT = 256 * 1024 * 1024
"""Most bytes one layer puts out. A body that swells beyond is cut there, with a note."""

type Sink = Callable[[bytes], None]

_BLOCK = 4096
_REPEATABLE = 1 << 16
"""Bytes of a member that are kept at any limit: with them the place of damage is found, whatever the chunks were."""

_LABELS = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd"}
_MEANT = {"gzip": ("gzip",), "deflate": ("zlib", "raw deflate"), "br": ("br",), "zstd": ("zstd",), "": ("",)}
_FIRST_OF_MAGIC = b"\x1f\x28" + bytes(range(0x50, 0x60))
_CONTROLS = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0D} | {0x7F})


class Decoder:
    """Takes the body of one message chunk by chunk and hands it, decoded, to `sink`.

    Bytes under an unknown coding are handed on as they are. Raises nothing, whatever the bytes. `notes` says what was
    met: `unknown_encoding`, and `encoding_` with `mislabelled`, `undecodable`, `damaged`, `incomplete`, `trailing` or
    `capped`.
    """

    def __init__(self, content_encoding: str | None, sink: Sink, *, limit: int = DEFAULT_LIMIT) -> None:
        self._book = Notebook()
        self._layers: list[_Layer] = []
        self._outermost = sink
        labels, all_known = _labels(content_encoding or "", self._book)
        if all_known:
            labels.append("")  # a body that is compressed without being labelled is found behind the labelled layers
        for label in reversed(labels):
            layer = _Layer(label, self._outermost, sink, self._book, limit)
            self._layers.insert(0, layer)
            self._outermost = layer.feed

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was met so far; final after `finish`."""
        return self._book.notes()

    @property
    def packed(self) -> bool:
        """Whether anything was found to be compressed, labelled or not."""
        return any(layer.kind for layer in self._layers)

    def feed(self, chunk: bytes) -> None:
        """Decodes one chunk. Work is proportional to the chunk and to what comes out of it."""
        if chunk:
            self._outermost(chunk)

    def finish(self) -> None:
        """Says that no more will come: hands on what was held back, and notes what was not whole."""
        for layer in self._layers:
            layer.finish()


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded body, and what was met on the way."""

    data: bytes
    notes: tuple[Note, ...] = ()


def decode(data: bytes, content_encoding: str | None, limit: int = DEFAULT_LIMIT) -> Decoded:
    """A whole body decoded, to at most `limit` bytes where it was compressed. Raises nothing."""
    pieces: list[bytes] = []
    decoder = Decoder(content_encoding, pieces.append, limit=limit)
    decoder.feed(data)
    decoder.finish()
    return Decoded(b"".join(pieces), decoder.notes)


def _labels(header: str, book: Notebook) -> tuple[list[str], bool]:
    """The codings to undo, the outermost first, up to the first unknown one; and whether there was none."""
    labels: list[str] = []
    for written in reversed(header.split(",")):
        name = written.partition(";")[0].strip().lower()
        if name in ("", "identity"):
            continue
        if name not in _LABELS:
            book.add(Note("unknown_encoding", f"content coding {name[:40]!r} is not known: bytes kept as they are"))
            return labels, False
        labels.append(_LABELS[name])
    return labels, True


class _Layer:
    """Undoes one coding. `_state` is the method that takes the next bytes and returns what it leaves to another."""

    def __init__(self, label: str, sink: Sink, past_all: Sink, book: Notebook, limit: int) -> None:
        self._label = label
        self._sink = sink
        self._past_all = past_all  # for what cannot be decoded: the layers behind have nothing to try on it
        self._book = book
        self._limit = limit
        self._kept = max(limit, _REPEATABLE)
        self.kind = ""
        self._head = b""  # bytes held back until they tell what begins here
        self._need = 16 if label in ("deflate", "br") else 4
        self._total_out = 0
        self._trailing = 0
        self._state: Callable[[bytes], bytes] = self._begin

    def feed(self, data: bytes) -> None:
        if self._state == self._pass:
            self._sink(data)
            return
        # In blocks: at each end of a member the library copies what is left of its input.
        for at in range(0, len(data), _BLOCK):
            self._run(data[at : at + _BLOCK])

    def finish(self) -> None:
        if self._state == self._begin and self._head:
            self._run(self._open())
        if self._state == self._between:
            self._junk(self._head)
        if self._state == self._decode:
            self._note("incomplete", f"the {self.kind} data stops before its end: what came of it was decoded")
        if self._trailing:
            self._note("trailing", f"{self._trailing} bytes after the end of the {self.kind} data were ignored")

    def _run(self, data: bytes) -> None:
        while data:
            data = self._state(data)

    # The states

    def _begin(self, data: bytes) -> bytes:
        self._head += data
        plain = not self._label and self._head[0] not in _FIRST_OF_MAGIC
        return self._open() if plain or len(self._head) >= self._need else b""

    def _pass(self, data: bytes) -> bytes:
        self._sink(data)
        return b""

    def _decode(self, data: bytes) -> bytes:
        try:
            for piece in self._codec.pieces(data):
                self._member_out += len(piece)
                self._emit(piece)
                if self._state != self._decode:
                    return b""
        except ERRORS:
            return self._decode_again(data)
        self._fed_size += len(data)
        if self._fed_size > self._kept:
            self._fed.clear()
        else:
            self._fed.append(data)
        if not self._codec.eof:
            return b""
        self._state = self._between
        return self._codec.rest

    def _between(self, data: bytes) -> bytes:
        """After a member. gzip (RFC 1952 §2.2) and zstd (RFC 8878 §3.1) may hold several, one after the other."""
        head = self._head + data
        if len(head) < 4:
            self._head = head
            return b""
        self._head = b""
        if self.kind in ("gzip", "zstd") and _magic(head) == self.kind:
            self._begin_member()
        else:
            self._state = self._junk
        return head

    def _junk(self, data: bytes) -> bytes:
        self._trailing += len(data) - data.count(0)  # some writers pad with zeros
        return b""

    def _ignore(self, data: bytes) -> bytes:
        """What follows the cap or the damage: its note is written."""
        return b""

    # The steps between them

    def _open(self) -> bytes:
        head, self._head = self._head, b""
        kind = self.kind = _sniff(self._label, head[: self._need])
        if kind not in _MEANT[self._label]:
            said = f"labelled {self._label}" if self._label else "without a label for it"
            self._note("mislabelled", f"{said}, but {f'it is {kind}: decoded' if kind else 'it is not: kept as it is'}")
        if kind:
            self._begin_member()
        else:
            self._state = self._pass
        return head

    def _begin_member(self) -> None:
        self._codec: MemberDecoder = DECODERS[self.kind]()
        self._member_out = 0
        self._fed: list[bytes] = []
        self._fed_size = 0
        self._state = self._decode

    def _emit(self, piece: bytes) -> None:
        room = self._limit - self._total_out
        if len(piece) > room:
            piece = piece[:room]
            self._state = self._ignore
            self._note("capped", f"the {self.kind} data swells beyond {self._limit} bytes: the rest was not decoded")
        self._total_out += len(piece)
        if piece:
            self._sink(piece)

    def _decode_again(self, data: bytes) -> bytes:
        """There is damage in `data`: feeds the member from its start up to there, and hands on what was not yet."""
        if self._fed_size > self._kept:
            return self._damaged(b"")
        fed = b"".join((*self._fed, data))
        block = _refused_block(self.kind, fed)
        ends = chain(range(_BLOCK, block + 1, _BLOCK), range(block + 1, min(block + _BLOCK, len(fed)) + 1))
        codec = DECODERS[self.kind]()
        known = self._member_out
        start = 0
        try:
            for end in ends:
                for piece in codec.pieces(fed[start:end]):
                    self._emit(piece[known:])
                    known = max(0, known - len(piece))
                    if self._state != self._decode:
                        return b""
                start = end
                if codec.eof:  # brotli refuses whatever follows its end: that was the damage
                    self._state = self._between
                    return codec.rest + fed[start:]
        except ERRORS:
            pass  # the place of the damage
        return self._damaged(fed)

    def _damaged(self, fed: bytes) -> bytes:
        if self._total_out == 0 and fed:
            self._note("undecodable", f"taken for {self.kind}, but nothing of it can be decoded: kept as it is")
            self._sink = self._past_all
            self._state = self._pass
            return fed
        self._note("damaged", f"the {self.kind} data is damaged: {self._total_out} decoded bytes come before that")
        self._state = self._ignore
        return b""

    def _note(self, what: str, detail: str) -> None:
        self._book.add(Note(f"encoding_{what}", detail))


def _refused_block(kind: str, fed: bytes) -> int:
    """Offset of the first block of `fed` that the decoder refuses."""
    codec = DECODERS[kind]()
    for start in range(0, len(fed), _BLOCK):
        try:
            for _ in codec.pieces(fed[start : start + _BLOCK]):
                pass
        except ERRORS:
            return start
    return 0


def _sniff(label: str, head: bytes) -> str:
    """What a layer is, by its first bytes: `gzip`, `zstd`, `zlib`, `raw deflate`, `br`, or empty: not compressed."""
    if kind := _magic(head):
        return kind
    if label in ("", "gzip", "zstd") or _is_text(head):
        return ""
    return "br" if label == "br" else "zlib" if _is_zlib(head) else "raw deflate"


def _magic(head: bytes) -> str:
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    # RFC 8878 §3.1.1 and §3.1.2: a frame, or a skippable frame
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5):
        return "zstd"
    return ""


def _is_zlib(head: bytes) -> bool:
    """RFC 1950 §2.2: method 8, window up to 32 KiB, and a check modulo 31."""
    return len(head) > 1 and head[0] & 0x8F == 0x08 and (head[0] << 8 | head[1]) % 31 == 0


def _is_text(head: bytes) -> bool:
    """Whether the head reads as UTF-8 without control characters; of 16 compressed bytes that is next to impossible."""
    if len(head) < 4 or head.translate(None, _CONTROLS) != head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(head) and error.start > len(head) - 4 and error.reason == "unexpected end of data"
    return True
