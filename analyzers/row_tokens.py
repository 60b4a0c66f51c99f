"""Tokens of some fields of a request that no server counted: enough to replay a conversation.

What ``estimate`` tells of the rows of these fields, and a folded text that nothing is noted of, which it leaves
unknown, by its characters: a thread is better replayed with a rough share than without. The API's own frames are left
out, since a prompt is put together of parts here. Pure, O(characters) of what is new.
"""

from __future__ import annotations

from typing import Final

from analyzers.estimate import FOLDED, estimate
from analyzers.sizes import field_size
from analyzers.tokens import NEWEST, family_of
from analyzers.wire.jsontext import Json

_CHARS_PER_TOKEN: Final = {"v3": 3.8, "v4.7": 2.8, "v4.8": 2.8}  # of prose and code, as measured


def row_tokens(body: Json, model: str | None) -> int:
    """Tokens of a body that has only the fields that are to be counted, estimated for a model. Raises DamagedRanks."""
    found = estimate(body, model)
    folded = {one.row.path for one in found.unknown if one.reason == FOLDED}
    chars = sum(
        row.size
        for name, value in (body.items() if folded and type(body) is dict else ())
        for row in field_size(name, value).rows
        if row.row.path in folded
    )
    known = sum(field.tokens for field in found.fields)
    return known + round(chars / _CHARS_PER_TOKEN[family_of(model) or NEWEST])
