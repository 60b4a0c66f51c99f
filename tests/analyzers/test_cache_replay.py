"""The documented rules of the prompt cache, on prompts whose positions are known in tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analyzers.cache_replay import Asked, Place, Point, ReplayedCache
from analyzers.spent import Spent


def point(prefix: str, tokens: int, *back: tuple[str, int], ttl: str = "5m") -> Point:
    return Point(ttl, (Place(prefix, tokens), *(Place(*one) for one in back)))


def at(start: float, *, took: float = 1.0, minimum: int = 0) -> Asked:
    return Asked(start, start + took, minimum)


def spent(fresh: int, five: int, hour: int, read: int) -> Spent:
    return Spent(fresh, five + hour, five, hour, read, 0)


def test_what_was_written_is_read_and_what_is_new_is_written() -> None:
    cache = ReplayedCache()
    assert cache.spend(at(0), [point("a", 1000)], 1200) == spent(200, 1000, 0, 0)
    assert cache.spend(at(60), [point("b", 1500, ("a", 1000))], 1500) == spent(0, 500, 0, 1000)


def test_a_life_counts_from_the_start_of_the_request_that_last_read_it() -> None:
    cache = ReplayedCache()
    cache.spend(at(0), [point("a", 1000)], 1000)
    assert cache.spend(at(299), [point("a", 1000)], 1000).read == 1000
    assert cache.spend(at(598), [point("a", 1000)], 1000).read == 1000  # the read at 299 kept it alive
    assert cache.spend(at(898), [point("a", 1000)], 1000) == spent(0, 1000, 0, 0)  # 300 seconds later it is gone


def test_an_entry_that_a_look_back_reads_lives_on() -> None:
    cache = ReplayedCache()
    cache.spend(at(0), [point("a", 1000)], 1000)
    cache.spend(at(200), [point("b", 1500, ("a", 1000))], 1500)
    assert cache.spend(at(450), [point("c", 1200, ("a", 1000))], 1200).read == 1000


def test_an_hour_lives_an_hour() -> None:
    cache = ReplayedCache()
    assert cache.spend(at(0), [point("a", 1000, ttl="1h")], 1000) == spent(0, 0, 1000, 0)
    assert cache.spend(at(3599), [point("a", 1000, ttl="1h")], 1000).read == 1000
    assert cache.spend(at(7199), [point("a", 1000, ttl="1h")], 1000).read == 0


def test_nothing_is_read_before_the_answer_that_wrote_it_began() -> None:
    cache = ReplayedCache()
    cache.spend(at(0, took=5), [point("a", 1000)], 1000)
    assert cache.spend(at(2, took=1), [point("a", 1000)], 1000) == spent(0, 1000, 0, 0)
    assert cache.spend(at(4), [point("a", 1000)], 1000).read == 1000  # the second one's answer had begun


def test_what_is_too_small_is_not_cached() -> None:
    cache = ReplayedCache()
    small = [point("a", 511)]
    assert cache.spend(at(0, minimum=512), small, 511) == spent(511, 0, 0, 0)
    assert cache.spend(at(1, minimum=512), small, 511) == spent(511, 0, 0, 0)


def test_up_to_the_last_hour_breakpoint_it_is_written_for_an_hour_and_the_rest_for_five_minutes() -> None:
    cache = ReplayedCache()
    points = [point("system", 700, ttl="1h"), point("end", 1000)]
    assert cache.spend(at(0), points, 1100) == spent(100, 300, 700, 0)
    later = [point("system", 700, ttl="1h"), point("other", 900)]
    assert cache.spend(at(60), later, 900) == spent(0, 200, 0, 700)


def test_the_longest_entry_that_any_breakpoint_finds_is_read() -> None:
    cache = ReplayedCache()
    cache.spend(at(0), [point("a", 500), point("b", 1000)], 1000)
    assert cache.spend(at(10), [point("a", 500), point("c", 1400, ("b", 1000), ("a", 500))], 1400).read == 1000


@given(
    st.lists(
        st.tuples(st.floats(0, 2000), st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3000)), max_size=4)),
        max_size=12,
    ),
    st.sampled_from(["5m", "1h"]),
)
def test_the_parts_add_up_to_the_prompt(asked: list[tuple[float, list[tuple[str, int]]]], ttl: str) -> None:
    cache = ReplayedCache()
    for start, places in sorted(asked, key=lambda one: one[0]):
        points = sorted((point(f"{name}{tokens}", tokens, ttl=ttl) for name, tokens in places), key=lambda p: p.place)
        total = max((tokens for _, tokens in places), default=0) + 10
        found = cache.spend(at(start, minimum=512), points, total)
        assert found.total_input == total
        assert found.written == (found.written_5m or 0) + (found.written_1h or 0)
        assert min(part or 0 for part in found) >= 0
