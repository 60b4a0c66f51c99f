"""Where breakpoints would have cost least: figures worked out by hand, at 1 character a token.

claude-opus-5-5 costs 4 USD per million input tokens, 5 to write for five minutes, 8 for an hour, 0.20 to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from analyzers.cache_advice import COMMON, Advice, Placement, Recorded, Replayed, advise, placements, with_common_part
from analyzers.cache_positions import Positions
from analyzers.cache_prompt import Mark, candidates
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.spent import Spent
from analyzers.terms import Conditions, Terms

MODEL = "claude-opus-5-5"
SYSTEM = 8_000  # characters up to the end of the system prompt


def asked(
    chars: Sequence[int],
    *gaps: float,
    looks_back: bool = True,
    model: str = MODEL,
    system: int = SYSTEM,
    terms: Terms | None = None,
) -> list[Recorded]:
    """Requests of one conversation, ``chars`` long, each that many seconds after the one before: the end of each is the
    first message's in the first, and its own last block."""
    out = []
    at = 0.0
    for n, length in enumerate(chars):
        at += gaps[n - 1] if n else 0.0
        back = tuple((str(earlier).encode(), earlier) for earlier in reversed(chars[: n + 1]))
        last = Mark("messages[9]", "5m", str(length).encode(), length, back if looks_back else back[:1])
        first = Mark("messages[0]", "5m", str(chars[0]).encode(), chars[0], back[-1:])
        front = Mark("system[0]", "5m", b"system", system, ((b"system", system),))
        marks = (("system", front), ("first message", first), ("last block", last))
        spent = Spent(length, 0, 0, 0, 0, 50)
        out.append(Recorded(n + 1, at, at + 1, model, spent, length, marks, (), terms))
    return out


def advice(requests: Sequence[Recorded]) -> Advice:
    return advise(requests, PriceBook(PriceList()), most=1000)


def cost_of(found: Advice, *placement: tuple[str, str]) -> Decimal | None:
    return next(one.usd for one in found.best if one.placement == placement)


def best(found: Advice) -> tuple[Placement, Decimal | None]:
    return found.best[0].placement, found.best[0].usd


def test_what_comes_again_within_five_minutes_is_written_once_for_five_minutes() -> None:
    found = advice(asked((10_000, 11_000), 10))
    assert best(found) == ((("first message", "5m"),), Decimal("0.056"))  # 10,000 x 5 + 10,000 x 0.20 + 1,000 x 4
    assert found.best[0] == Replayed((("first message", "5m"),), 1_000, 10_000, 10_000, Decimal("0.056"))
    assert cost_of(found, ("last block", "5m")) == Decimal("0.057")  # the last write is read by nobody
    assert cost_of(found, ("system", "5m")) == Decimal("0.0616")
    assert cost_of(found) == Decimal("0.084")


def test_a_conversation_that_goes_on_pays_for_a_moving_breakpoint() -> None:
    found = advice(asked((10_000, 20_000, 30_000, 40_000), 10, 10, 10))
    assert best(found) == ((("last block", "5m"),), Decimal("0.212"))  # 40,000 x 5 + 60,000 x 0.20


def test_pauses_beyond_five_minutes_pay_for_an_hour() -> None:
    found = advice(asked((10_000, 11_000, 12_000), 600, 600))
    assert best(found) == ((("first message", "1h"),), Decimal("0.096"))
    five = cost_of(found, ("first message", "5m"))  # written three times
    assert five == Decimal("0.162")


def test_what_never_comes_again_is_best_not_written() -> None:
    assert best(advice(asked((10_000,)))) == ((), Decimal("0.04"))
    assert best(advice(asked((10_000, 11_000), 4000))) == ((), Decimal("0.084"))


@pytest.mark.parametrize(("gap", "read"), [(299.9, 10_000), (300.0, 0), (300.1, 0)])
def test_an_entry_is_gone_when_its_time_to_live_is_over(gap: float, read: int) -> None:
    found = advice(asked((10_000, 11_000), gap))
    assert next(one.read for one in found.best if one.placement == (("last block", "5m"),)) == read


def test_what_the_model_does_not_cache_changes_nothing() -> None:
    found = advice(asked((400, 500), 10, system=300))  # caches from 512 tokens on
    assert [one.placement for one in found.best] == [()]


def test_nothing_is_found_beyond_the_look_back() -> None:
    found = advice(asked((10_000, 11_000), 10, looks_back=False))
    assert next(one.read for one in found.best if one.placement == (("last block", "5m"),)) == 0


def test_an_answer_that_has_not_begun_leaves_nothing_to_read() -> None:
    found = advice(asked((10_000, 11_000), 0.5))
    assert all(one.read == 0 for one in found.best)


def test_every_figure_closes_and_no_placement_breaks_the_rules_of_the_api() -> None:
    found = advice(asked((10_000, 11_000, 12_000), 10, 400))
    assert all(one.fresh + one.written + one.read == 33_000 for one in (*found.best, found.actual))
    every = list(placements())
    assert len(every) == len(set(every)) == 1 + 6 * 2 + 15 * 3 + 20 * 4 + 15 * 5
    assert all([ttl for _, ttl in one] == sorted(ttl for _, ttl in one) for one in every)


def test_what_was_paid_is_by_the_server_s_counters_and_the_terms_it_served_on() -> None:
    plain = advice(asked((10_000, 11_000), 10))
    halved = advice(asked((10_000, 11_000), 10, terms=Terms(Conditions("batch"), web_searches=3)))
    assert plain.paid == Decimal("0.084")
    assert (halved.paid, halved.best[0].usd) == (Decimal("0.042"), Decimal("0.028"))


def test_without_a_price_nothing_is_ranked() -> None:
    found = advice(asked((10_000, 11_000), 10, model="claude-nobody-9"))
    assert (found.paid, found.best, found.actual.usd) == (None, (), None)


def test_asking_for_an_hour_lengthens_no_entry_that_is_there() -> None:
    first, second, third = asked((10_000, 11_000, 12_000), 60, 1200)
    early = tuple(replace(mark, ttl="5m") for name, mark in first.marks if name == "last block")
    later = tuple(replace(mark, ttl="1h") for name, mark in second.marks if name == "first message")
    requests = [replace(first, actual=early), replace(second, actual=later), replace(third, actual=later)]
    assert (advice(requests).actual.read, advice(requests).actual.written) == (10_000, 20_000)


def test_what_all_requests_have_in_common_is_a_place_of_its_own() -> None:
    """Two blocks of system prompt, of which the second tells the time."""

    def body(clock: str) -> dict[str, Any]:
        blocks = [{"type": "text", "text": "r" * 20_000}, {"type": "text", "text": f"it is {clock}"}]
        return {"system": blocks, "messages": [{"role": "user", "content": "weigh"}]}

    positions, requests = Positions(), []
    for n, clock in enumerate(("12:00", "12:01", "12:02")):
        places = candidates(body(clock), MODEL, positions)
        chars = places.marks[-1][1].chars
        at = 60.0 * n
        spent = Spent(chars, 0, 0, 0, 0, 5)
        one = Recorded(n + 1, at, at + 1, MODEL, spent, chars, places.marks, (), front=places.front)
        requests.append(one)
    found = advice(with_common_part(requests))
    assert found.best[0].placement == ((COMMON, "5m"),)
    assert found.best[0].read == 2 * found.best[0].written > 40_000


def test_what_was_recorded_may_be_better_than_all_that_was_tried() -> None:
    requests = asked((10_000, 20_000), 10)
    front = requests[0].marks[0][1]
    elsewhere = Mark("system[0]", "5m", b"elsewhere", 9_500, ((b"elsewhere", 9_500),))
    assert not advice([replace(one, actual=(front,)) for one in requests]).recorded_is_best
    bare = [replace(one, marks=(), actual=(elsewhere,)) for one in requests]
    assert advice(bare).recorded_is_best


def test_of_two_that_cost_the_same_the_plainer_is_named() -> None:
    found = advice(asked((10_000, 11_000), 10))
    assert all(ttl == "5m" for _, ttl in found.best[0].placement)
    assert best(advice(asked((400, 500), 10, system=300)))[0] == ()
