"""The options of ``growth``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_options import AsJson, Captures, ClaudeCode, Folded, given
from analyzers.failure import Failure


def growth_command(
    context: typer.Context,
    newest: Annotated[int | None, typer.Argument(metavar="[N]", help="Only the newest N threads.")] = None,
    captures: Captures = None,
    as_json: AsJson = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="TOKENS", help="When does a prompt reach so many tokens?")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="USD", help="When has a thread cost so much?")
    ] = None,
    prices: Annotated[str | None, typer.Option("--prices", metavar="FILE", help="Prices of your own (TOML).")] = None,
    as_model: Annotated[
        str | None, typer.Option("--as", metavar="MODEL", help="Of what names no model, such as a chat store.")
    ] = None,
    every_row: Annotated[bool, typer.Option("--all", help="Show every turn, however many.")] = False,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Replay other ways to send it, with and without prompt cache.")
    ] = False,
    every: Annotated[int, typer.Option("--every", metavar="K", help="Clear, or summarise, every K turns.")] = 50,
    window: Annotated[
        int, typer.Option("--window", metavar="TOKENS", help="Most tokens of messages in a sliding window.")
    ] = 50_000,
    keep: Annotated[
        int | None,
        typer.Option("--keep", metavar="TOKENS", help="Cut a full window to so many. Default: as little as possible."),
    ] = None,
    summary: Annotated[int, typer.Option("--summary", metavar="TOKENS", help="Tokens of a summary.")] = 500,
    whole: Annotated[int, typer.Option("--whole", metavar="TURNS", help="Tiers: newest turns kept whole.")] = 50,
    summarised: Annotated[
        int, typer.Option("--summarised", metavar="TURNS", help="Tiers: turns before these, each as a summary.")
    ] = 500,
    turn_summary: Annotated[
        int, typer.Option("--turn-summary", metavar="TOKENS", help="Tiers: tokens of the summary of one turn.")
    ] = 50,
    facts: Annotated[
        int, typer.Option("--facts", metavar="TOKENS", help="Tiers: tokens of key facts of all the rest.")
    ] = 500,
    model: Annotated[bool, typer.Option("--model", help="No recording: the bare model, of the numbers below.")] = False,
    turns: Annotated[int | None, typer.Option("--turns", metavar="N", help="Model: number of turns.")] = None,
    tokens_per_turn: Annotated[
        int | None, typer.Option("--tokens-per-turn", metavar="T", help="Model: tokens that each turn adds.")
    ] = None,
    history: Annotated[
        int | None, typer.Option("--history", metavar="TOKENS", help="Model: tokens of a history that goes with it.")
    ] = None,
    message: Annotated[
        int | None, typer.Option("--message", metavar="TOKENS", help="Model: tokens of the first message.")
    ] = None,
    answer: Annotated[
        int | None, typer.Option("--answer", metavar="TOKENS", help="Model: tokens of each answer.")
    ] = None,
    growth: Annotated[
        int | None,
        typer.Option("--growth", metavar="TOKENS", help="Model: growth in a turn. Default: message and answer."),
    ] = None,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """How conversations grow: tokens sent by turn and in all, what was typed, when a limit is reached; --what-if."""
    from analyzers import commands_growth as commands
    from analyzers.strategies import Settings

    asked = commands.Question(newest, limit, budget, what_if, as_model, every_row)
    settings = Settings(
        every, window, window if keep is None else keep, summary, whole, summarised, turn_summary, facts
    )
    as_json = as_json or context.obj.as_json
    numbers = commands.Numbers(turns, tokens_per_turn, history, message, answer, growth)
    if model:
        commands.model(numbers, asked, settings, prices, as_json)
    elif numbers != commands.Numbers():
        raise Failure("numbers of a conversation are for the bare model: add --model, or leave them out", 2)
    else:
        commands.grow(given(context, captures, folded, claude_code), asked, settings, prices, as_json)
