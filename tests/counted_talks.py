"""Conversations whose server counts tokens by multipliers that the test knows, for the tests of calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conversations import Message, answer, call, traced, user

from analyzers.calibrated import tokens_by_kind
from analyzers.calibration_samples import Reader, Samples, samples
from analyzers.estimate import estimate
from analyzers.exchange import Exchange
from analyzers.tokens import Weights

MODEL = "claude-opus-5-5"
PROSE = "The weighbridge tells the load from the vehicle, and says how sure it is of what it told. "
HAN = "这座地磅在卡车驶过时称重，不让它停下来。"
CYRILLIC = "Весы взвешивают грузовик на ходу, не останавливая его. "
WEIGHTS = Weights()


def counted(body: Mapping[str, Any], by: Mapping[str, float]) -> int:
    """Tokens of a body as a server counts them whose texts cost so many times the estimate."""
    kinds, rest = tokens_by_kind(estimate(dict(body), MODEL, WEIGHTS))
    return rest + round(sum(by.get(kind, 1.0) * tokens for kind, tokens in kinds.items()))


def usage(total: int) -> dict[str, int]:
    return {
        "input_tokens": 7,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": total - 27,
        "output_tokens": 30,
    }


def spoken(turns: int, *texts: str) -> list[Message]:
    """A conversation up to the user's words of the last turn; each text in turn, longer and longer, never twice."""
    said: list[Message] = []
    for place in range(2 * turns - 1):
        text = f"{place} " + texts[place % len(texts)] * (4 + place % 7)
        said.append(answer(text) if place % 2 else user(text))
    return said


def talk(turns: int, by: Mapping[str, float], *texts: str, at: float = 0.0, **more: Any) -> list[Exchange]:
    """Each turn's exchange of such a conversation."""
    whole = spoken(turns + 1, *texts)
    found = []
    for turn in range(1, turns + 1):
        messages = whole[: 2 * turn - 1]
        body = {"model": MODEL, "system": "You are careful.", "messages": messages} | more
        reply = whole[2 * turn - 1]["content"]
        found.append(
            call(messages, at=at + 10 * turn, usage=usage(counted(body, by)), answered=reply, **_as(body, more))
        )
    return found


def _as(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {"system": body["system"], "tools": body.get("tools"), **more}


def prompts_of(exchanges: Sequence[Exchange], weights: Weights | None = None) -> Samples:
    """The samples of some exchanges."""
    ordered = sorted(exchanges, key=lambda exchange: exchange.time or 0.0)
    reader = Reader(weights or WEIGHTS)
    return samples(traced(ordered)[0], [reader.look(exchange) for exchange in ordered])
