"""Whose names the members of an object have, told by where it stands: ``name`` in a tool is the API's, ``name`` inside
``input`` is the user's.
"""

from __future__ import annotations

from enum import Enum

from analyzers import api_words as own
from analyzers.wire.fold import USER_DATA

_COUNTERS = frozenset(("usage", "usage_start", "usage_delta", "modelUsage"))


class Names(Enum):
    """Whose names the members of an object have: the API's; the user's; JSON Schema's; the user's with schemas below
    them; the API's in a place that this program does not know, where numbers may tell something too; names of counters;
    names of models with counters below them."""

    API = 1
    USER = 2
    SCHEMA = 3
    PROPERTIES = 4
    UNKNOWN = 5
    COUNTERS = 6
    MODELS = 7


def is_own_name(key: str, names: Names) -> bool:
    """Whether the name of a member is one of the API's, or of JSON Schema's."""
    if names in (Names.USER, Names.PROPERTIES, Names.MODELS):
        return False
    return key in (own.SCHEMA_KEYS if names is Names.SCHEMA else own.KEYS)


def below(key: str, names: Names) -> Names:
    """Whose names stand below a member."""
    if names is Names.USER:
        return Names.USER
    if names is Names.PROPERTIES:
        return Names.SCHEMA
    if names is Names.SCHEMA:
        if key in own.NAMES_BELOW:
            return Names.PROPERTIES
        return Names.USER if key in ("default", "examples", "const", "enum") else Names.SCHEMA
    if key in USER_DATA:
        return Names.SCHEMA if key in ("input_schema", "schema") else Names.USER
    if names is Names.MODELS or names is Names.COUNTERS:
        return Names.COUNTERS
    if key in _COUNTERS:
        return Names.MODELS if key == "modelUsage" else Names.COUNTERS
    return names if key in own.KEYS else Names.UNKNOWN
