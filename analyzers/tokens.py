"""Tokens of a text, estimated offline: it is weighed once, and the weight becomes tokens of any model's family.

A weight knows nothing of models: characters and o200k tokens by class of writing (``text_classes``). A family's tokens
are a sum over the classes with factors that were fitted to counts of the API (``token_factors``, errors in
``docs/figures.md``). So a capture that folded a text keeps its weight in a note line, and can still be told in tokens
of whatever model is asked about.

With the extra ``weighbridge[claude-tokens]`` the package ctok, a reconstruction of Claude's vocabularies, counts far
closer and thirty times slower; a text weighed by ``weigh_closely`` carries its counts. Estimated all the same.

Only text is ever weighed: base64, signatures and encrypted data have no tokens that their characters tell of.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any, Final, Literal

from analyzers.models import model_of
from analyzers.text_classes import classes_of
from analyzers.token_factors import FACTORS, UNSEEN

type Family = Literal["v3", "v4.7", "v4.8"]
"""Vocabulary and frame: ``v3`` Claude 3 to 4.6; ``v4.7`` Opus 4.7; ``v4.8`` 4.8 and 5.x, with 4.7's vocabulary."""

type Method = Literal["o200k", "ctok"]
type Vocabulary = Literal["v3", "v4.7"]

NEWEST: Final[Family] = "v4.8"
MOST_KEPT: Final = 1 << 14
"""Weights that are remembered."""

_SMALL: Final = 64
"""Characters below which weighing is cheaper than remembering."""

_CTOK_SLICE: Final = 20_000
_VOCABULARY: Final[dict[Family, Vocabulary]] = {"v3": "v3", "v4.7": "v4.7", "v4.8": "v4.7"}
VOCABULARIES: Final[tuple[Vocabulary, ...]] = ("v3", "v4.7")
_CTOK_VERSION: Final[dict[Vocabulary, str]] = {"v3": "3.0", "v4.7": "4.7"}


@dataclass(frozen=True, slots=True)
class TextWeight:
    """What was counted of texts, whatever the model. ``classes``: characters and o200k tokens by class of writing;
    ``counted``: tokens by vocabulary, where ctok counted all of it."""

    classes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)

    @property
    def chars(self) -> int:
        return sum(chars for chars, _ in self.classes.values())

    def method(self, family: Family | None) -> Method:
        """What tells the tokens of a family here."""
        return "ctok" if family is not None and _VOCABULARY[family] in self.counted else "o200k"


NOTHING: Final = TextWeight()


def weigh(text: str) -> TextWeight:
    """The weight of a text. Raises DamagedRanks when the shipped vocabulary is not what it must be."""
    return TextWeight(classes_of(text))


def weigh_closely(text: str, vocabularies: Iterable[Vocabulary] = VOCABULARIES) -> TextWeight:
    """The weight of a text, with the counts of ctok in these vocabularies where that is installed."""
    count = _ctok()
    if count is None:
        return weigh(text)
    parts = [text[start : start + _CTOK_SLICE] for start in range(0, len(text), _CTOK_SLICE)]
    counted: dict[str, int] = {}
    for name in vocabularies:
        version = _CTOK_VERSION[name]
        counted[name] = sum(count(part, version) - _frame(version) for part in parts)
    return TextWeight(classes_of(text), counted)


def has_ctok() -> bool:
    """Whether the optional ctok is installed."""
    return _ctok() is not None


@cache
def _ctok() -> Callable[[str, str], int] | None:
    """Tokens of a text as a message of its own, in a version's vocabulary; None where ctok is not installed."""
    try:
        from ctok import token_count
    except ImportError:
        return None
    count: Callable[[str, str], int] = token_count
    return count


@cache
def _frame(version: str) -> int:
    """Tokens that are the message's, not the text's: of ``a``, since the empty text has a frame of its own. Apart for
    each version, whose vocabulary takes half a second to load."""
    count = _ctok()
    assert count is not None
    return count("a", version) - 1


class Weights:
    """Weighs each distinct text once and remembers the last so many by their hash. ``closely``: with ctok, in these
    vocabularies. ``known``: weights of folded texts by sha256. One thread at a time."""

    def __init__(self, *, closely: Iterable[Vocabulary] = (), known: Mapping[str, TextWeight] | None = None) -> None:
        self._closely = tuple(closely)
        self._known = known or {}
        self._kept: OrderedDict[bytes, TextWeight] = OrderedDict()

    def of(self, text: str) -> TextWeight:
        """The weight of a text."""
        if len(text) < _SMALL:
            return self._weigh(text)
        key = sha256(text.encode("utf-8", "surrogatepass")).digest()
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._weigh(text)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found

    def _weigh(self, text: str) -> TextWeight:
        return weigh_closely(text, self._closely) if self._closely else weigh(text)

    def of_folded(self, digest: str | None) -> TextWeight | None:
        """The weight of a folded text by its hash; None where no note tells it."""
        return self._known.get(digest) if digest is not None else None


def sum_of(weights: Iterable[TextWeight]) -> TextWeight:
    """One weight of several texts. Counts of ctok are kept only where all have them."""
    classes: dict[str, tuple[int, int]] = {}
    counted: dict[str, int] | None = None
    for weight in weights:
        for name, (chars, tokens) in weight.classes.items():
            before = classes.get(name, (0, 0))
            classes[name] = (before[0] + chars, before[1] + tokens)
        if not weight.classes:
            continue
        counted = (
            dict(weight.counted)
            if counted is None
            else {name: counted[name] + weight.counted[name] for name in counted.keys() & weight.counted.keys()}
        )
    return TextWeight(classes, counted or {})


def tokens_of(weight: TextWeight, family: Family | None) -> int:
    """Tokens for a family of Claude models, estimated; None for another vendor's: as in o200k itself. Without frames:
    a text in a prompt, not a message."""
    vocabulary = "o200k" if family is None else _VOCABULARY[family]
    if (counted := weight.counted.get(vocabulary)) is not None:
        return counted
    factors, unseen = FACTORS[vocabulary], UNSEEN[vocabulary]
    total = 0.0
    for name, (chars, tokens) in weight.classes.items():
        per_char, per_token = factors.get(name, unseen)
        total += per_char * chars + per_token * tokens
    return round(total)


def family_of(model: str | None) -> Family | None:
    """The tokenizer family of a model; None for what is no Claude model, or one whose version its name does not
    tell."""
    version = model_of(model).version if model is not None else None
    if version is None:
        return None
    return "v3" if version < (4, 7) else "v4.7" if version < (4, 8) else "v4.8"


def vocabulary_of(model: str | None) -> Vocabulary:
    """The vocabulary that a model's texts are counted in; the newest where it is not known."""
    return _VOCABULARY[family_of(model) or NEWEST]


def weight_json(weight: TextWeight) -> dict[str, Any]:
    """A weight as a capture's note line keeps it."""
    told: dict[str, Any] = {"classes": {name: list(pair) for name, pair in weight.classes.items()}}
    return told | ({"ctok": dict(weight.counted)} if weight.counted else {})


def weight_of_json(value: Any) -> TextWeight | None:
    """The weight that ``weight_json`` wrote; None for what is none."""
    if type(value) is not dict or type(value.get("classes")) is not dict:
        return None
    classes: dict[str, tuple[int, int]] = {}
    for name, pair in value["classes"].items():
        if type(pair) is not list or len(pair) != 2 or not all(_is_count(one) for one in pair):
            return None
        classes[name] = (pair[0], pair[1])
    counted = value.get("ctok", {})
    if type(counted) is not dict or not all(_is_count(one) for one in counted.values()):
        return None
    return TextWeight(classes, counted)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
