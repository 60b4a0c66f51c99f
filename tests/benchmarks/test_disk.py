"""The lines whose bytes are counted are those that a recorder would write."""

from random import Random

from analyzers.readers.captures import CaptureStream
from analyzers.wire.jsontext import dump, parse
from analyzers.wire.weighing import Weigher
from benchmarks.disk import lines, written
from benchmarks.session import session


def test_a_turn_is_a_request_and_its_whole_answer() -> None:
    turn = next(session(1))
    request, response = (parse(line).value for line in lines(turn, 1, Random(1), Weigher(400)))
    assert request["kind"] == "request"
    assert request["wire_bytes"] == len(turn.body) == sum(request["steps"].values())
    assert response["kind"] == "response"
    assert response["id"] == request["id"]
    assert response["ended"] == "completed"
    assert [block["type"] for block in response["content"]] == [block["type"] for block in turn.answer]


def test_a_reader_finds_every_turn() -> None:
    stream = CaptureStream("made up")
    start = dump({"kind": "start", "format": 1})
    weigher = Weigher(400)
    text = [line for number, turn in enumerate(session(3)) for line in lines(turn, number, Random(number), weigher)]
    exchanges = stream.feed(b"\n".join([start, *text, b""]))
    assert len(exchanges) == 3
    assert not stream.finish()


def test_sizes_are_those_of_files_that_grow() -> None:
    two, four = written((2, 4))
    assert (two.turns, four.turns) == (2, 4)
    assert four.raw > 1.9 * two.raw
    assert two.raw > two.plain > two.compressed > 0
    assert four.compressed < 1.5 * two.compressed


def test_a_capture_grows_with_what_is_new_not_with_the_square_of_the_conversation() -> None:
    fifty, hundred = written((50, 100))
    assert hundred.raw > 3 * fifty.raw
    assert hundred.compressed < 2.3 * fifty.compressed
    assert hundred.compressed < 0.005 * hundred.raw
