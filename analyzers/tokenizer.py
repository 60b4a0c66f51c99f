"""The o200k_base tokenizer, offline: its ranks are shipped with this package, and tiktoken does the work.

tiktoken itself would download the ranks. Here the encoding is built from the file beside this module, after the file
was held against the hash that tiktoken pins (``tiktoken_ext.openai_public.o200k_base``, whose pattern and special
tokens these are too). The encoding is loaded once, when it is first needed: about a second.
"""

from __future__ import annotations

import lzma
from binascii import a2b_base64
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

import tiktoken

RANKS_FILE: Final = "o200k_base.tiktoken.xz"
RANKS_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
SPECIAL_TOKENS: Final = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
PATTERN: Final = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class DamagedRanks(Exception):
    """The shipped ranks are not those that the hash is of."""


@cache
def encoding() -> tiktoken.Encoding:
    """The encoding. Raises DamagedRanks when its file is not what it must be."""
    packed = files("analyzers").joinpath("data", RANKS_FILE).read_bytes()
    return tiktoken.Encoding(
        "o200k_base", pat_str=PATTERN, mergeable_ranks=ranks(packed), special_tokens=SPECIAL_TOKENS
    )


def ranks(packed: bytes) -> dict[bytes, int]:
    """The ranks in a file packed with xz: one line each, a token in base64 and its rank. Raises DamagedRanks."""
    try:
        text = lzma.decompress(packed)
    except (lzma.LZMAError, EOFError):
        text = b""
    if sha256(text).hexdigest() != RANKS_SHA256:
        raise DamagedRanks("the file of token ranks is damaged: install weighbridge again")
    words = text.split()
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def token_ids(text: str) -> list[int]:
    """The tokens of a short text. What looks like a special token is text; a lone surrogate counts as U+FFFD."""
    try:
        return encoding().encode_ordinary(text)
    except UnicodeEncodeError:
        return encoding().encode_ordinary(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
