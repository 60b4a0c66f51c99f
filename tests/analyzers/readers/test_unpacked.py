"""Bytes of a file, decompressed piece by piece."""

from __future__ import annotations

import gzip
import io
import random

from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked

NOISE = random.Random(3).randbytes(200_000)


def test_no_more_is_read_than_is_handed_on_so_the_place_tells_how_far_it_is() -> None:
    data = gzip.compress(NOISE)
    stream = io.BytesIO(data)
    places, sizes = [], [0]
    for piece in unpacked(Source(stream, "x", "x")):
        places.append(stream.tell())
        sizes.append(sizes[-1] + len(piece))
    assert sizes[-1] == len(NOISE) and len(places) > 20
    assert all(abs(place / len(data) - size / len(NOISE)) < 0.1 for place, size in zip(places, sizes[1:], strict=True))


def test_members_behind_one_another_are_read_as_one() -> None:
    data = b"".join(gzip.compress(part) for part in (NOISE[:5000], b"", NOISE[5000:]))
    source = Source(io.BytesIO(data), "x", "x")
    assert b"".join(unpacked(source)) == NOISE and source.problems == []
