"""Calls that a log tells a second time under another name.

A copied conversation (a fork, a side question, a debugging transcript) can come with new ids, new times, or none, so
that no id shows that it is a copy. Three marks tell it, each of a copy in *another* file: the same counters at the same
millisecond; the same counters in the same order, all within one second; records without any id whose counters are those
of identified calls. What has such a mark is set aside with its reason and its sums: never counted twice, never dropped
in silence. (Public reports: one fork inflated a total 91 times.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final, Literal

from analyzers.calls import Call, file_of
from analyzers.spent import Sum, summed

_MOST_FILES: Final = 50  # that may hold what a run repeats: more of them with the same counters tell of a mock

type Counters = tuple[int | None, int | None, int | None, int | None]
"""Uncached input, cache writes, cache reads, output."""

type Reason = Literal["probable_replay", "unidentified_copy"]


@dataclass(frozen=True, slots=True)
class SetAside:
    """Calls of one file that are left out of every sum. ``like``: where the first call stands that they repeat."""

    reason: Reason
    calls: int
    sums: Sum
    place: str
    like: str


def set_aside(calls: Sequence[Call], runs: Iterable[Sequence[Call]]) -> tuple[list[Call], list[SetAside]]:
    """The calls without those that repeat others, and what was taken out. ``calls``: each once, in time order;
    ``runs``: calls of one file whose records lie within one second, in the file's order."""
    copies: dict[str, tuple[Reason, Call, str]] = {}
    _same_moment(calls, copies)
    standing = {call.place for call in calls}
    runs = [[call for call in run if call.place in standing] for run in runs]
    nameless = [call for call in calls if call.logged and call.message_id is None and call.request_id is None]
    wanted = {_counters(call) for group in (*runs, nameless) for call in group}
    alike = _Alike(calls, wanted) if wanted else _Alike((), wanted)
    for run in runs:
        _same_order(run, alike, copies)
    for group in _by_file(nameless).values():
        _nameless(group, alike, copies)
    kept = [call for call in calls if call.place not in copies]
    return kept, _told(copies.values())


class _Alike:
    """Calls by their counters, and by file, each in time order: so that a call is looked for, not searched."""

    def __init__(self, calls: Sequence[Call], wanted: Container[Counters]) -> None:
        self.all: defaultdict[Counters, list[tuple[str, Call]]] = defaultdict(list)
        self._times: defaultdict[tuple[Counters, str], list[float]] = defaultdict(list)
        self._calls: defaultdict[tuple[Counters, str], list[Call]] = defaultdict(list)
        for call in calls:
            counters = _counters(call)
            if counters in wanted:
                file = file_of(call.place)
                self.all[counters].append((file, call))
                self._times[counters, file].append(call.time or 0.0)
                self._calls[counters, file].append(call)

    def files(self, counters: Counters) -> list[str]:
        """The first few files that have such calls."""
        return list(islice(dict.fromkeys(file for file, _ in self.all[counters]), _MOST_FILES))

    def after(self, counters: Counters, file: str, time: float | None) -> Call | None:
        """The first such call of a file, or the first later than a moment."""
        times = self._times.get((counters, file), ())
        place = 0 if time is None else bisect_right(times, time)
        return self._calls[counters, file][place] if place < len(times) else None


def _counters(call: Call) -> Counters:
    fresh, written, _, _, read, output, _ = call.spent
    return fresh, written, read, output


def _counts(call: Call) -> bool:
    """Whether its counters can tell it from others at all."""
    return bool(call.logged and call.spent.output and call.spent.known_input)


def _same_moment(calls: Sequence[Call], copies: dict[str, tuple[Reason, Call, str]]) -> None:
    """Neighbours in time order: the same counters at the same moment in two files."""
    for first, second in pairwise(calls):
        if first.time is None or first.time != second.time or not (_counts(first) and _counts(second)):
            continue
        if file_of(first.place) != file_of(second.place) and _counters(first) == _counters(second):
            original, copy = (first, second) if not first.sidechain or second.sidechain else (second, first)
            copies[copy.place] = ("probable_replay", copy, original.place)


def _same_order(run: Sequence[Call], alike: _Alike, copies: dict[str, tuple[Reason, Call, str]]) -> None:
    """A run of one second that repeats calls of one other file, in their order and at other times. Calls that are all
    alike (a mock of the API makes such) repeat nothing."""
    run = [call for call in run if _counts(call) and call.place not in copies]
    if len({_counters(call) for call in run}) < 2:
        return
    own = file_of(run[0].place)
    others = [file for file in alike.files(_counters(run[0])) if file != own]
    steps = max((_steps(run, alike, file) for file in others), key=len, default=[])
    if len({_counters(call) for call, _ in steps}) >= 2:
        copies.update((call.place, ("probable_replay", call, other.place)) for call, other in steps)


def _steps(run: Sequence[Call], alike: _Alike, file: str) -> list[tuple[Call, Call]]:
    """The calls from the start of a run that repeat calls of this file in their order, each with the one it repeats."""
    steps: list[tuple[Call, Call]] = []
    for call in run:
        other = alike.after(_counters(call), file, steps[-1][1].time or 0.0 if steps else None)
        if other is None or (other.time or 0.0) >= (call.time or 0.0):
            break
        steps.append((call, other))
    return steps


def _nameless(group: Sequence[Call], alike: _Alike, copies: dict[str, tuple[Reason, Call, str]]) -> None:
    """All records of a file that have no id, when each of them has the counters of an identified call elsewhere, or
    is one more record of the call before it."""
    found: list[tuple[Call, Call]] = []
    own = file_of(group[0].place)
    rest: dict[Counters, Iterator[Call]] = {}
    for call in group:
        counters = _counters(call)
        if counters not in rest:
            rest[counters] = _named_elsewhere(alike.all[counters], own)
        other = next(rest[counters], None) if _counts(call) else None
        if other is not None:
            found.append((call, other))
        elif found and _counters(found[-1][0]) == counters:
            found.append((call, found[-1][1]))
        else:
            return
    copies.update((call.place, ("unidentified_copy", call, other.place)) for call, other in found)


def _named_elsewhere(alike: Iterable[tuple[str, Call]], own: str) -> Iterator[Call]:
    for file, other in alike:
        if file != own and (other.message_id is not None or other.request_id is not None):
            yield other


def _by_file(calls: Iterable[Call]) -> dict[str, list[Call]]:
    files: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        files[file_of(call.place)].append(call)
    return files


def _told(copies: Iterable[tuple[Reason, Call, str]]) -> list[SetAside]:
    groups: defaultdict[tuple[Reason, str], list[tuple[Call, str]]] = defaultdict(list)
    for reason, call, like in copies:
        groups[reason, file_of(call.place)].append((call, like))
    return [
        SetAside(reason, len(group), summed([call.spent for call, _ in group]), file, group[0][1])
        for (reason, file), group in groups.items()
    ]
