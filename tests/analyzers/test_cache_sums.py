"""What the rows of chains come to, as far as it is known."""

from __future__ import annotations

from analyzers.cache import CacheRow, Seen
from analyzers.cache_sums import cache_sums
from analyzers.spent import NOTHING, Spent


def row(n: int, spent: Spent, holds: bool | None, *, again: int | None = 0, failed: bool = False) -> CacheRow:
    seen = Seen(n, None, None, None, spent, None, failed=failed)
    follows = None if n == 1 else n - 1
    loss = again if holds is not None or follows is None else None
    return CacheRow(seen, follows, holds, None, None, loss, None, None, None, resent=None if loss is None else 0)


def spent(fresh: int, written: int, read: int) -> Spent:
    return Spent(fresh, written, written, 0, read, 9)


def test_of_requests_without_counters_nothing_is_known() -> None:
    found = cache_sums([row(1, NOTHING, None), row(2, NOTHING, None)])
    assert (found.read, found.total, found.hit_rate) == (None, None, None)
    assert (found.broken, found.again, found.resent) == (None, None, None)
    assert found.at_least == []


def test_of_no_request_nothing_is_known() -> None:
    found = cache_sums([])
    assert (found.read, found.total, found.hit_rate, found.broken, found.again) == (None,) * 5


def test_a_counter_that_says_0_stays_0_and_is_no_share_of_nothing() -> None:
    found = cache_sums([row(1, spent(0, 0, 0), None), row(2, spent(0, 0, 0), True)])
    assert (found.read, found.total, found.broken, found.again, found.resent) == (0, 0, 0, 0, 0)
    assert (found.hit_rate, found.at_least) == (None, [])
    assert cache_sums([row(1, spent(10, 0, 0), None)]).hit_rate == 0


def test_where_some_are_known_the_sums_are_lower_bounds() -> None:
    found = cache_sums(
        [row(1, spent(0, 600, 0), None), row(2, spent(0, 700, 100), False, again=500), row(3, NOTHING, None)]
    )
    assert (found.read, found.total, found.known, found.requests) == (100, 1400, 2, 3)
    assert (found.broken, found.again) == (1, 500)
    assert found.at_least == [
        "cache_read_input_tokens", "total_input_tokens", "written_again", "sent_again", "broken"
    ]  # fmt: skip


def test_a_single_request_has_no_breaks_once_it_is_counted() -> None:
    assert cache_sums([row(1, spent(1, 0, 0), None)]).broken == 0
    assert cache_sums([row(1, NOTHING, None)]).broken is None


def test_an_error_leaves_no_sum_open() -> None:
    rows = [row(1, spent(0, 600, 0), None), row(2, spent(0, 0, 600), True), row(3, NOTHING, None, failed=True)]
    found = cache_sums(rows)
    assert (found.read, found.total, found.broken, found.at_least) == (600, 1200, 0, [])
    assert cache_sums([row(1, NOTHING, None, failed=True)]).total is None


def test_a_break_of_which_it_is_not_known_what_was_written_leaves_that_open() -> None:
    first = row(1, spent(0, 600, 0), None)
    alone = cache_sums([first, row(2, Spent(1, None, None, None, 0, 9), False, again=None)])
    assert (alone.broken, alone.again, alone.at_least) == (1, None, ["cache_read_input_tokens", "total_input_tokens"])
    both = cache_sums([first, row(2, spent(0, 600, 0), False, again=600), row(3, NOTHING, False, again=None)])
    assert (both.broken, both.again) == (2, 600) and "written_again" in both.at_least
