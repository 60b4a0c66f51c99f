"""The commands about how conversations grow: ``growth``, ``growth --what-if``, ``growth --model``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from analyzers import tables
from analyzers.commands_cost import own_prices_of
from analyzers.context_limit import Limit
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.gather import traced
from analyzers.growth import Growth, ThreadGrowth, Wanted, growth, recorded
from analyzers.growth_model import Carried, Resent
from analyzers.growth_shown import (
    carried_json,
    carried_lines,
    growth_json,
    growth_lines,
    heading,
    resent_json,
    resent_lines,
    thread_json,
)
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.reading import Given, nothing, opened, print_json, report
from analyzers.replayed_talk import talk_of, talk_of_model
from analyzers.strategies import Replay, Settings, replays
from analyzers.strategies_shown import what_if_json, what_if_lines
from analyzers.turn_sizes import Estimate, TurnSizer
from analyzers.wire.jsontext import Json


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a recording. ``newest``: so many threads; ``limit``: tokens of a prompt; ``budget``: USD;
    ``what_if``: replay other ways to send it; ``as_model``: of what names no model."""

    newest: int | None = None
    limit: int | None = None
    budget: str | None = None
    what_if: bool = False
    as_model: str | None = None
    every_row: bool = False


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of the bare model; None: not given."""

    turns: int | None = None
    tokens_per_turn: int | None = None
    history: int | None = None
    message: int | None = None
    answer: int | None = None
    growth: int | None = None


def grow(given: Given, asked: Question, settings: Settings, prices: str | None, as_json: bool) -> None:
    """How the threads of a recording grow; with ``what_if``, what other ways to send them cost."""
    if asked.newest is not None and asked.newest < 1:
        raise Failure(f"{asked.newest} threads cannot be shown: give a number from 1", 2)
    _check(settings)
    wanted = Wanted(asked.newest, _positive(asked.limit, "--limit"), _usd(asked.budget), asked.as_model)
    book = PriceBook(PriceList(), own_prices_of(prices))
    problems: list[Problem] = []
    sources = opened(given)
    sizer = TurnSizer(_estimator(asked.as_model))
    read = traced(sources, problems, look=sizer.look)
    report(problems)
    found = growth(read.lineage().sessions, read.calls, read.looked, book, wanted)
    if asked.what_if:
        _what_if(found, asked, settings, book, as_json)
    elif as_json:
        print_json(growth_json(found))
    elif found.threads:
        tables.draw(*growth_lines(found, asked.every_row))
    if not found.threads:
        nothing(sources, given, problems, as_json)


def _what_if(found: Growth, asked: Question, settings: Settings, book: PriceBook, as_json: bool) -> None:
    documents: list[dict[str, Any]] = []
    for thread in found.threads:
        talk = talk_of(thread, asked.as_model)
        replayed: list[Replay] = []
        if talk is not None:
            replayed = replays(talk, settings, book, _limit_of(thread))
        if as_json:
            told = what_if_json(talk, replayed, settings, recorded(thread)) if talk is not None else None
            documents.append(thread_json(thread) | {"what_if": told})
            continue
        lines = ["no prompt of it has a count, so it cannot be replayed"]
        drawn = what_if_lines(talk, replayed, settings, recorded(thread)) if talk is not None else lines
        tables.draw(heading(thread), *drawn, "")
    if as_json:
        print_json(growth_json(found) | {"threads": documents})


def _limit_of(thread: ThreadGrowth) -> int | None:
    limits = [int(one.limit) for one in (thread.limit, thread.given_limit) if one is not None]
    return min(limits, default=None)


def model(numbers: Numbers, asked: Question, settings: Settings, prices: str | None, as_json: bool) -> None:
    """The bare model, of numbers alone."""
    _check(settings)
    turns = _positive(numbers.turns, "--turns")
    limit = _positive(asked.limit, "--limit")
    given = Limit(limit, "given") if limit is not None else None
    if turns is None or (numbers.tokens_per_turn is None) == (numbers.history is None):
        raise Failure(
            "--model takes --turns, and either --tokens-per-turn, or --history with --message and --answer", 2
        )
    if numbers.tokens_per_turn is None:
        carried = _carried(numbers, turns)
        if asked.what_if:
            raise Failure("--what-if replays turns: give --tokens-per-turn instead of --history", 2)
        if as_json:
            print_json(carried_json(carried, settings, given))
        else:
            tables.draw(*carried_lines(carried, given))
        return
    resent = Resent(_positive(numbers.tokens_per_turn, "--tokens-per-turn") or 1, turns)
    told = resent_json(resent, settings, given)
    lines = list(resent_lines(resent, given))
    if asked.what_if:
        book = PriceBook(PriceList(), own_prices_of(prices))
        talk = talk_of_model(resent, asked.as_model, time.time())
        replayed = replays(talk, settings, book, limit)
        told["what_if"] = what_if_json(talk, replayed, settings, None)
        lines += ["", *what_if_lines(talk, replayed, settings, None)]
    if as_json:
        print_json(told)
    else:
        tables.draw(*lines)


def _carried(numbers: Numbers, turns: int) -> Carried:
    amounts = {
        "--history": numbers.history,
        "--message": numbers.message,
        "--answer": numbers.answer,
        "--growth": numbers.growth,
    }
    for name, amount in amounts.items():
        if amount is not None and amount < 0:
            raise Failure(f"{name} {amount} is no number of tokens: give one from 0", 2)
    message, answer = numbers.message or 0, numbers.answer or 0
    grows = numbers.growth if numbers.growth is not None else message + answer
    return Carried(numbers.history or 0, message, answer, grows, turns)


def _check(settings: Settings) -> None:
    for name, amount, least in (
        ("--every", settings.every, 1),
        ("--window", settings.window, 1),
        ("--keep", settings.keep, 1),
        ("--summary", settings.summary, 0),
        ("--whole", settings.whole, 1),
        ("--summarised", settings.summarised, 0),
        ("--turn-summary", settings.turn_summary, 0),
        ("--facts", settings.facts, 0),
    ):
        if amount < least:
            raise Failure(f"{name} {amount} is too small: give a number from {least}", 2)
    if settings.keep > settings.window:
        raise Failure(f"--keep {settings.keep} is more than --window {settings.window}: give at most that", 2)


def _positive(number: int | None, name: str) -> int | None:
    if number is not None and number < 1:
        raise Failure(f"{name} {number} is too small: give a number from 1", 2)
    return number


def _usd(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        amount = Decimal(text)
    except ArithmeticError:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount <= 0:
        raise Failure(f"--budget {text!r} is no amount of USD: give a number above 0", 2)
    return amount


def _estimator(as_model: str | None) -> Estimate:
    """Tokens of what no server counted, for the model it names, else for this one."""

    def tokens(body: Json, named: str | None) -> int:
        from analyzers.row_tokens import row_tokens  # loads the ranks of a tokenizer

        return row_tokens(body, named or as_model)

    return tokens
