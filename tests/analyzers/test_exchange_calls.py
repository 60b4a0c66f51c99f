"""Which calls an exchange tells of."""

from __future__ import annotations

from dataclasses import replace

from conversations import call, user

from analyzers.exchange_calls import calls_of


def test_what_the_guard_answered_is_no_call() -> None:
    exchange = call([user("hello")], None, status=400)
    assert exchange.response is not None
    assert len(calls_of(exchange)) == 1
    blocked = replace(exchange, response=replace(exchange.response, headers={"x-weighbridge": "guard"}))
    assert calls_of(blocked) == ()
