"""The command that tells the tokens of a request before it is sent: ``estimate``."""

from __future__ import annotations

import sys

from analyzers.calibrated import Multipliers, calibrated
from analyzers.commands_calibrate import multipliers_given
from analyzers.commands_cost import own_prices_of
from analyzers.commands_usage import MOST_ROWS
from analyzers.estimate import PromptEstimate, estimate
from analyzers.estimate_price import InputPrice, input_price
from analyzers.estimate_shown import estimate_json, print_batch, print_estimate
from analyzers.failure import Failure
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.readers.raw import read_body
from analyzers.reading import print_json
from analyzers.tokenizer import DamagedRanks
from analyzers.tokens import VOCABULARIES, Vocabulary, Weights, has_ctok, vocabulary_of
from analyzers.wire.jsontext import Json, NotJson

LARGEST = 320 * 1024 * 1024
"""Bytes of a body: above the largest that the API takes."""


def estimate_file(
    path: str,
    model: str | None,
    prices: str | None,
    as_json: bool,
    every: bool,
    folded: bool = False,
    calibration: str | None = None,
) -> None:
    """The tokens of the body in a file. ``model``: instead of its own; ``folded``: fold markers in it are markers;
    ``calibration``: a file of the user's own."""
    own, multipliers = own_prices_of(prices), multipliers_given(calibration)
    try:
        body = _body(path, folded)
        book = PriceBook(PriceList(), own)
        if _is_batch(body):
            weights = Weights(closely=VOCABULARIES if has_ctok() else ())
            _batch(body, model, weights, multipliers, book, as_json, every)
            return
        found = estimate(body, model, Weights(closely=(_vocabulary(body, model),) if has_ctok() else ()))
    except DamagedRanks as error:
        raise Failure(str(error), 3) from None
    found = found if multipliers is None else calibrated(found, multipliers)
    priced = input_price(found, body, book)
    if as_json:
        print_json(estimate_json(found, priced))
    else:
        print_estimate(found, priced, None if every else MOST_ROWS)


def _batch(
    body: Json,
    model: str | None,
    weights: Weights,
    multipliers: Multipliers | None,
    book: PriceBook,
    as_json: bool,
    every: bool,
) -> None:
    """Each request of a batch by itself."""
    found: list[tuple[str, PromptEstimate, InputPrice]] = []
    for index, request in enumerate(body["requests"]):
        params = request.get("params") if type(request) is dict else None
        one = estimate(params, model, weights)
        one = one if multipliers is None else calibrated(one, multipliers)
        found.append((f"requests[{index}]", one, input_price(one, params, book, batch=True)))
    if as_json:
        print_json({"requests": [{"path": path} | estimate_json(one, priced) for path, one, priced in found]})
    else:
        print_batch(found, None if every else MOST_ROWS)


def _vocabulary(body: Json, model: str | None) -> Vocabulary:
    named = model or (body.get("model") if type(body) is dict else None)
    return vocabulary_of(named if type(named) is str else None)


def _is_batch(body: Json) -> bool:
    return type(body) is dict and "messages" not in body and type(body.get("requests")) is list


def _body(path: str, folded: bool) -> Json:
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
    except OSError as error:
        raise Failure(
            f"{path} cannot be read ({error.strerror or error}): give the file of a request body, or -", 3
        ) from None
    if len(data) > LARGEST:
        raise Failure(f"{path} is larger than {LARGEST:,} bytes, which no request body is", 3)
    try:
        exchange = read_body(data, path, folded=folded)
    except NotJson as error:
        raise Failure(f"{path} is no request body ({error.reason}): give the JSON that would be sent", 3) from None
    assert exchange.request is not None
    return exchange.request.body
