"""Law 4: every exact figure of every report on a redacted copy is that of the original, digit for digit.

What "the same" means is defined once, in ``same_figures``.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, end, request, response, start, written
from every_kind import KINDS, file_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from json_values import SHAPES, shape_requests, texts, values
from recorded_session import NEWER, OLDER, unpacked
from same_figures import differences, result

from analyzers import show
from analyzers.cache_report import cache_report
from analyzers.cache_shown import cache_json
from analyzers.commands_cost import own_prices_of
from analyzers.exchange import Exchange
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.readers.captures import CaptureStream
from analyzers.readers.raw import read_body
from analyzers.readers.sources import Sources
from analyzers.redact import Redactor
from analyzers.redact_body import redacted_body
from analyzers.redact_files import Wish, redact_files
from analyzers.redact_records import RecordRedactor
from analyzers.scrambled_text import Scrambler
from analyzers.sizes import UNITS, request_ledger
from analyzers.wire.jsontext import dump, parse
from analyzers.wire.weighing import weighed

EXAMPLE = Path(__file__).parents[2] / "captures.example" / "four-turns.jsonl"
REPORTS = (["list"], ["usage"], ["cache"], ["sessions"], ["cost"])
KEY = b"k" * 32
REDACTOR = Redactor(KEY)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def _same(before: Path, after: Path, *reports: Sequence[str]) -> list[str]:
    return [
        f"{' '.join(report)}: {difference}"
        for report in reports
        for difference in differences(result([before], *report), result([after], *report))
    ]


@pytest.mark.parametrize("wish", [Wish(), Wish(fold_over=40)], ids=["scrambled", "folded on the way"])
def test_the_example_gives_the_same_figures(tmp_path: Path, wish: Wish) -> None:
    redact_files(str(EXAMPLE), str(tmp_path / "out.jsonl.zst"), wish)
    assert _same(EXAMPLE, tmp_path / "out.jsonl.zst", *REPORTS, ["growth"], ["show", "1"], ["show", "4"]) == []


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A session that was recorded and logged at once, and both redacted in one run: ``captures`` and ``projects``."""
    folder = tmp_path_factory.mktemp("session")
    unpacked(NEWER, folder / "in")
    redact_files(str(folder / "in"), str(folder / "out"), Wish())
    return folder / "in", folder / "out"


def test_a_recorded_session_gives_the_same_figures(session: tuple[Path, Path]) -> None:
    before, after = session
    assert _same(before / "captures", after / "captures", *REPORTS, ["show", "7"]) == []


def test_a_clients_log_gives_the_same_figures(session: tuple[Path, Path]) -> None:
    before, after = session
    assert _same(before / "projects", after / "projects", *REPORTS, ["show", "7"]) == []


def test_a_redacted_recording_can_still_be_put_beside_the_redacted_log(session: tuple[Path, Path]) -> None:
    one, other = (result([at / "captures"], "sessions", "--compare", str(at / "projects")) for at in session)
    assert list(differences(one, other)) == []


def test_a_log_of_a_version_that_keeps_no_requests_gives_the_same_figures(tmp_path: Path) -> None:
    logs = unpacked(OLDER, tmp_path / "in").logs
    redact_files(str(logs), str(tmp_path / "out"), Wish())
    assert _same(logs, tmp_path / "out", ["usage"], ["sessions"]) == []


def test_requests_out_of_a_redacted_log_are_still_proved_by_its_hashes(session: tuple[Path, Path]) -> None:
    before, after = (_proofs(at / "projects") for at in session)
    assert before == after and sum("proved" in proof for proof in after) == len(after) > 40


def _proofs(folder: Path) -> list[str]:
    return [
        note.detail
        for exchange in Sources([str(folder)]).exchanges([])
        for note in (exchange.request.notes if exchange.request is not None else ())
        if note.code == "rebuilt_from_log"
    ]


def test_words_by_which_calls_are_told_apart_stay(tmp_path: Path) -> None:
    """An answer of the guard's is no call, a request for compaction is no turn, and what fails is tried again."""
    failed = {"ended": "error", "status": 400, "usage": None, "message_id": None, "content": None}
    lines = [
        request("1", body("first")),
        response("1", **failed, headers={"x-weighbridge": "guard"}, error={"type": "invalid_request_error"}),
        request("2", body("second"), headers=[("x-claude-code-request-class", "compaction")]),
        response("2", message_id="msg_2"),
        request("3", body("third")),
        response("3", **failed, headers={"x-weighbridge": "another word"}, error={"type": "overloaded_error"}),
    ]
    place = written(tmp_path, "in.jsonl", start(), *lines, end())
    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish())
    assert result([place], "usage")["totals"]["requests"] == 2
    assert _same(place, tmp_path / "out.jsonl", *REPORTS) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "chat"])
def test_a_file_of_every_kind_gives_the_same_figures(tmp_path: Path, kind: str) -> None:
    place = file_of(kind, tmp_path)
    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish())
    assert _same(place, tmp_path / "out.jsonl", *REPORTS, ["show", "1"]) == []


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name.partition(".")[0])
def test_recorded_bodies_are_taken_apart_alike_in_every_unit(path: Path) -> None:
    for recorded in list(shape_requests(path))[:2]:
        raw = recorded["raw"]
        new = redacted_body(raw, REDACTOR)
        assert len(new) == len(raw)
        assert _ledgers(read_body(raw, "x")) == _ledgers(read_body(new, "x"))


def _ledgers(exchange: Exchange) -> list[Any]:
    """The ledgers of a request in every unit, without what rows are called."""
    assert exchange.request is not None
    shown = [show.ledger_json(ledger) for unit in UNITS.values() if (ledger := request_ledger(exchange.request, unit))]
    for ledger in shown:
        ledger["fields"] = [(len(field["name"]), field["chars"], field["share"]) for field in ledger["fields"]]
        ledger["blocks"] = [(row["chars"], row["class"], list(row["classes"].values())) for row in ledger["blocks"]]
        ledger["structure"] = list(ledger["structure"].values())
    return shown


spaces = st.sampled_from(["", " ", "\n", "\t\r\n"])


@given(
    st.dictionaries(st.sampled_from(["messages", "system", "tools", "metadata", "x"]), values, max_size=4),
    spaces,
    st.booleans(),
    st.sampled_from(["", " tail 12 é"]),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_body_keeps_every_step_to_its_bytes(body: Any, space: str, ascii_only: bool, tail: str) -> None:
    apart = ("," + space, ":" + space)
    text = json.dumps({"model": "claude-opus-5", **body}, ensure_ascii=ascii_only, separators=apart)
    raw = (space + text.replace("/", "\\/") + tail).encode("utf-8", "surrogatepass")

    new = redacted_body(raw, REDACTOR)

    (_, _, before), (_, _, after) = weighed(raw, len(raw), -1), weighed(new, len(new), -1)
    assert before.steps == after.steps and list(before.fields.values()) == list(after.fields.values())
    assert len(new) == len(raw)
    assert len(new.decode("utf-8", "surrogatepass")) == len(raw.decode("utf-8", "surrogatepass"))


@given(values, st.sampled_from([-1, 0, 40]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_captured_body_keeps_its_ledger(body: Any, fold_over: int) -> None:
    whole = dump({"model": "m", "messages": [{"role": "user", "content": body}], "metadata": body})
    lines = start(fold_over) + request("1", whole, fold_over=fold_over) + response("1", content=[]) + end()

    [before], [after] = (_read(text) for text in (lines, _redacted(lines)))

    assert _ledgers(before) == _ledgers(after)
    assert request_ledger(after.request).closes  # type: ignore[union-attr, arg-type]


def _redacted(lines: bytes) -> bytes:
    redactor = RecordRedactor(REDACTOR)
    return b"".join(dump(redactor.record(parse(line).value)) + b"\n" for line in lines.split(b"\n")[:-1])


def _read(lines: bytes) -> list[Exchange]:
    stream = CaptureStream("capture")
    found = stream.feed(lines) + stream.finish()
    assert stream.problems == []
    return found


messages = st.lists(texts, min_size=2, max_size=6)


@given(messages, st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_conversations_break_at_the_same_place_with_the_same_cause(tmp_path: Path, said: list[str], data: Any) -> None:
    """A later request changes one character somewhere: where the prompts part is a figure too."""
    place = data.draw(st.integers(0, len(said) - 1))
    at = data.draw(st.integers(0, len(said[place])))
    changed = [*said]
    changed[place] = said[place][:at] + data.draw(st.sampled_from(["x", "7", " ", "é"])) + said[place][at + 1 :]
    lines = start(-1)
    for n, talk in enumerate((said[:1], said, [*changed, "more"])):
        body = {"model": "claude-opus-5", "system": "s" * 9000, "messages": _talk(talk)}
        lines += request(str(n), dump(body), at=float(n), fold_over=-1, headers=(("x-session-id", "s1"),))
        lines += response(str(n), message_id=f"msg_{n}", headers={"request-id": f"req_{n}"})
    reports = []
    for number, text in enumerate((lines, _redacted(lines))):
        found = cache_report(Sources([str(written(tmp_path, f"{number}.jsonl", text))]), [], None)
        reports.append(cache_json(found, PriceBook(PriceList(), own_prices_of(None))))
    assert list(differences(*reports)) == []


def _talk(said: Sequence[str]) -> list[dict[str, Any]]:
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(said)]


def test_measures_of_images_are_kept_and_nothing_else_of_them() -> None:
    """A JPEG's preface may name a camera and a place."""
    preface = b"Exif\0\0 taken at Primrose Lane 12"
    exif = b"\xff\xe1" + struct.pack(">H", len(preface) + 2) + preface
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, 768, 1024) + bytes(12)
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"secret of an image" * 9
    webp = b"RIFF" + b"hidd" + b"WEBP"
    for data, media_type, shown in (
        (b"\xff\xd8" + exif + frame + bytes(range(200)), "image/jpeg", "image/jpeg 1024x768"),
        (png, "image/png", "image/png 640x480"),
        (webp + b"VP8X" + b"hiddenwo" + bytes((99, 0, 0, 49, 0, 0)) + b"secret of", "image/webp", "image/webp 100x50"),
        (webp + b"VP8L" + b"hidde" + bytes((99, 64, 12, 0)) + b"secret of an image", "image/webp", "image/webp 100x50"),
        (webp + b"VP8 " + b"hidden wor" + bytes((100, 0, 50, 0)) + b"secret of", "image/webp", "image/webp 100x50"),
        (b"GIF89a" + bytes((100, 0, 50, 0)) + b"secret of an image", "image/gif", "image/gif 100x50"),
        (b"%PDF-1.4 hidden words /Type /Page hidden words" * 2, "application/pdf", "application/pdf, 2 pages"),
    ):
        source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
        block = {"type": "document" if "pdf" in media_type else "image", "source": source}
        raw = dump({"model": "claude-opus-5", "messages": [{"role": "user", "content": [block]}]})
        new = redacted_body(raw, REDACTOR)
        [row] = [row for row in _rows(new) if row["class"] == "base64"]
        assert row["what"] == shown and row["chars"] == len(source["data"])
        told = json.loads(new)["messages"][0]["content"][0]["source"]["data"]
        assert not {b"Primrose", b"secret of", b"hidden w"} & {base64.b64decode(told)[n : n + 8] for n in range(999)}


def _rows(raw: bytes) -> list[dict[str, Any]]:
    request_ = read_body(raw, "x").request
    assert request_ is not None
    ledger = request_ledger(request_)
    assert ledger is not None
    return list(show.ledger_json(ledger)["blocks"])


def test_the_comparison_sees_an_escape_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = dump({"model": "claude-opus-5", "messages": [{"role": "user", "content": "a\nb"}]})
    monkeypatch.setattr(Scrambler, "text", lambda self, text, name=None: text.replace("\n", " "))
    new = RecordRedactor(Redactor(KEY)).record(parse(request("1", raw)).value)
    [exchange] = _read(start() + dump(new) + b"\n" + response("1"))
    json_unit = request_ledger(exchange.request, UNITS["json"])  # type: ignore[arg-type]
    before = request_ledger(read_body(raw, "x").request, UNITS["json"])  # type: ignore[arg-type]
    assert list(differences(show.ledger_json(before), show.ledger_json(json_unit)))  # type: ignore[arg-type]
