"""The words that a redacted copy may hold whatever was in the original: names and closed lists of the API, of its
clients and of this program, and the phrases that labels are told from.
"""

from __future__ import annotations

from functools import cache

from analyzers import api_words
from analyzers.redact_addresses import OWN_NAMES
from analyzers.redact_check import words_of
from analyzers.scrambled_text import known_phrases


@cache
def own_words() -> frozenset[str]:
    """Those of them that are long enough to be told."""
    lists = (api_words.KEYS, api_words.SCHEMA_KEYS, api_words.WORDS, api_words.SERVER_TOOLS, OWN_NAMES, known_phrases())
    return frozenset(word for words in lists for word in words_of(" ".join(words)))
