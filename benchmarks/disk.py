"""Bytes on disk of one long session, as raw bodies, folded, and folded and compressed.

No proxy: the records are made and written by the recorder's own functions, requests and answers, so the sizes are
those of a real capture to the byte. Raw is what the client sent, the bodies alone.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from addon import stub_answers
from addon.journal import CaptureFile, Journal, Tally
from analyzers.wire.answer import Answer, AnswerReader
from analyzers.wire.jsontext import dump
from analyzers.wire.record import (
    FileHead,
    SeenAnswer,
    SeenRequest,
    end_record,
    request_record,
    response_record,
    start_record,
)
from analyzers.wire.weighing import Weigher
from benchmarks.proxies import NotMeasured
from benchmarks.scale import Scale
from benchmarks.session import MODEL, Turn, session
from benchmarks.table import Result, Target, figure

FOLD_OVER = 400
SHARE_LIMIT = 0.5
GROWTH_LIMIT = 2.3
_EPOCH = 1_764_491_652.0
_TURN_SECONDS = 7.3
_REQUEST_HEADERS = (
    ("Content-Type", "application/json"),
    ("User-Agent", "claude-cli/2.1.332 (external, sdk-cli)"),
    ("anthropic-version", "2023-06-01"),
    ("X-Claude-Code-Session-Id", "5f0c1d7e-2b1a-4f4e-9c55-0d6a7b8c9d10"),
    ("Authorization", "Bearer none"),
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """MB after so many turns."""

    turns: int
    raw: float
    plain: float
    compressed: float


def disk(scale: Scale) -> Result:
    """Raises NotMeasured."""
    found = [*written(scale.disk_turns)]
    by_turns = {sizes.turns: sizes for sizes in found}
    rows = tuple(
        (
            f"{sizes.turns} turns",
            figure(sizes.raw, 1),
            figure(sizes.plain, 1),
            figure(sizes.compressed, 3),
            figure(_percent(sizes), 3, " %"),
        )
        for sizes in found
    )
    last = max(by_turns)
    whole, half = by_turns[last], by_turns[last // 2]
    targets = (
        Target(f"{last} turns on disk, of the raw bodies", _percent(whole), SHARE_LIMIT, " %", 3),
        Target(f"{last} turns on disk, of {last // 2} turns", whole.compressed / half.compressed, GROWTH_LIMIT, "×"),
    )
    head = ("", "raw bodies, MB", "folded .jsonl, MB", "folded .jsonl.zst, MB", ".zst of raw")
    return Result("Bytes on disk", head, rows, targets)


def _percent(sizes: Sizes) -> float:
    return 100 * sizes.compressed / sizes.raw


def written(at: tuple[int, ...]) -> Iterator[Sizes]:
    """The sizes after each of these numbers of turns, in rising order. Raises NotMeasured when a line was lost."""
    raw = 0
    chance, weigher = Random(4), Weigher(FOLD_OVER)
    with tempfile.TemporaryDirectory(prefix="weighbridge-bench-") as folder:
        plain, packed = Path(folder, "plain"), Path(folder, "packed")
        with journal(plain, compress=False) as one, journal(packed, compress=True) as other:
            for number, turn in enumerate(session(max(at)), 1):
                raw += len(turn.body)
                request, response = lines(turn, number, chance, weigher)
                for target in (one, other):
                    target.response(response, target.request(request))
                if number in at:
                    yield Sizes(number, raw / 1e6, _megabytes(plain), _megabytes(packed))


def lines(turn: Turn, number: int, chance: Random, weigher: Weigher) -> tuple[bytes, bytes]:
    """The two lines that a recorder would write about a turn. `chance` makes its identifiers."""
    began = _EPOCH + number * _TURN_SECONDS + chance.random()
    name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    seen = SeenRequest(
        id=name,
        time=began,
        method="POST",
        scheme="https",
        host="api.anthropic.com",
        port=443,
        path="/v1/messages?beta=true",
        route="messages",
        headers=(*_REQUEST_HEADERS, ("Content-Length", str(len(turn.body)))),
        body=turn.body,
    )
    request = request_record(seen, weigher, key=bytes(32))
    took = [round(span, 6) for span in sorted(chance.uniform(0.4, 6.0) for _ in range(3))]
    answered = SeenAnswer(
        id=name,
        time=began + took[2],
        ended="completed",
        status=200,
        headers=_answer_headers(turn, number),
        answer=_answer(turn, number),
        first_byte=took[0],
        first_content=took[1],
        last=took[2],
    )
    return dump(request), dump(response_record(answered, fold_over=FOLD_OVER))


def _answer(turn: Turn, number: int) -> Answer:
    counters = {
        "input_tokens": 8,
        "cache_creation_input_tokens": 1_100 + 37 * (number % 23),
        "cache_read_input_tokens": len(turn.body) // 4,
    }
    whole = stub_answers.message(
        list(turn.answer), model=MODEL, body=turn.body, ordinal=number, max_tokens=32_000, counters=counters
    )
    reader = AnswerReader(200, "text/event-stream; charset=utf-8", None)
    for ordinal, event in enumerate(stub_answers.events(whole)):
        reader.feed(stub_answers.frame(event, ordinal))
    return reader.finish()


def _answer_headers(turn: Turn, number: int) -> tuple[tuple[str, str], ...]:
    return (
        ("content-type", "text/event-stream; charset=utf-8"),
        ("request-id", stub_answers.token("req", turn.body, number)),
        ("anthropic-ratelimit-requests-remaining", str(3_999 - number % 7)),
        ("anthropic-ratelimit-input-tokens-remaining", str(1_990_000 - 911 * number)),
        ("date", "Sun, 30 Nov 2025 08:34:12 GMT"),
    )


@contextmanager
def journal(folder: Path, *, compress: bool) -> Iterator[Journal]:
    """A journal as the recorder has it. Raises NotMeasured when a line was lost."""
    warnings: list[str] = []
    made = Journal(
        folder,
        compress=compress,
        rotate_bytes=256_000_000,
        first_line=lambda continues: dump(start_record(_head(compress, continues))),
        last_line=_last_line,
        warn=warnings.append,
    )
    yield made
    made.close()
    if made.lost:
        raise NotMeasured(f"{made.lost} lines could not be written: {warnings}")


def _head(compress: bool, continues: str | None) -> FileHead:
    return FileHead(
        time=_EPOCH,
        version="0",
        mitmproxy="0",
        fold_over=FOLD_OVER,
        modes=("reverse:https://api.anthropic.com",),
        options={"capture_compress": compress, "capture_rotate_mb": 256, "capture_match": ""},
        continues=continues,
    )


def _last_line(file: CaptureFile, tally: Tally) -> bytes:
    counts = {"requests": file.requests, "responses": file.responses, "lost": tally.lost}
    return dump(end_record(_EPOCH, unmatched=tally.unmatched, **counts))


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.glob("*.jsonl*")) / 1e6
