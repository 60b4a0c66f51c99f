"""Personal data by place: the figures of ``privacy``, told without looking at what was sent again."""

from collections import defaultdict
from typing import Any

from conversations import call, talk

from analyzers.exchange import Exchange
from analyzers.noted import Noted
from analyzers.privacy import privacy
from analyzers.readers.kept import Shared
from analyzers.report.personal import personal_json
from analyzers.wire.fold import Elided

MAIL = "write to quarry.office@weighbridge-works.net about it"
SHA = "a" * 64


def places(*exchanges: Exchange, notes: Any = None) -> dict[tuple[str, str], tuple[int, int, int]]:
    shared = Shared()
    told = personal_json([shared.exchange(one) for one in exchanges], notes or {})
    return {
        (one["kind"], one["where"]): (one["requests"], one["first_request"], one["values"]) for one in told["places"]
    }


def looked_for(*exchanges: Exchange) -> dict[tuple[str, str], tuple[int, int, int]]:
    """The same of all that the analyzer finds when it looks at everything."""
    requests, values = defaultdict(set), defaultdict(set)
    for finding in privacy(exchanges).findings:
        requests[finding.kind, finding.where].add(finding.request)
        values[finding.kind, finding.where].add(finding.value)
    return {key: (len(ns), min(ns), len(values[key])) for key, ns in requests.items()}


def test_figures_are_those_of_the_analyzer_that_looks_at_everything() -> None:
    said = [MAIL, "I see /home/margaret/orders.txt", "and call +49 30 901820", "no", MAIL, "yes", "again"]
    turns = [
        call(talk(*said[: 2 * turn + 1]), said[2 * turn + 1] if turn < 3 else "end", at=60.0 * turn, session="s-1")
        for turn in range(4)
    ]
    found = places(*turns)
    assert found == looked_for(*turns)
    assert any(requests == 4 for requests, _, _ in found.values())
    assert len({where for _, where in found}) > 3


def test_a_message_that_moved_is_found_where_it_stands_now() -> None:
    one, other = call(talk("a", "b", MAIL)), call(talk(MAIL), at=9.0)
    assert places(one, other) == looked_for(one, other)


def test_what_is_new_between_what_was_sent_before_is_found_where_it_stands() -> None:
    def asked(tools: list[Any], *texts: str, at: float) -> Exchange:
        system = [{"type": "text", "text": f"{text} <{text}@weighbridge-works.net>"} for text in texts]
        return call(talk("a", *texts, "b"), at=at, system=system, tools=tools)

    bash, named = {"name": "Bash"}, {"name": "Ask", "description": MAIL}
    turns = [
        asked([bash], "one", at=1.0),
        asked([bash, named], "one", MAIL, at=2.0),
        asked([named, bash], "two", MAIL, "one", at=3.0),
        asked([bash, named, named], "one", MAIL, "one", MAIL, at=4.0),
    ]
    found = places(*turns)
    assert found == looked_for(*turns)
    assert {where.split("]")[0] for _, where in found} >= {"tools[0", "tools[1", "system[1", "messages[2"}


def test_a_folded_text_is_told_by_its_note_and_unknown_without_one() -> None:
    folded = Elided(500, 500, 500, 502, sha256=SHA)
    exchange = call([{"role": "user", "content": folded}])
    assert ("email", "messages[0].content text, folded") in places(exchange, notes={SHA: Noted(None, {"email": 2})})
    told = personal_json([exchange], {})
    assert told["not_known"] == {"strings": 1, "chars": 500}
