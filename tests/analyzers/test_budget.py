"""What a request will take, judged before it is sent: a token for each character of text, so that figures are plain."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from conversations import answer, user

from analyzers import budget as subject
from analyzers.budget import Budget, Expected, Limits, excess
from analyzers.calls import Call
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.sizes import CHARS, size
from analyzers.spent import Spent

MODEL = "claude-opus-5-5"  # 4 USD a million to send, 5 to write, 0.20 to read, 20 for output
MARK = {"type": "ephemeral"}


def count(body: Any, model: str | None) -> tuple[int, bool]:
    return sum(size(block.get("text"), CHARS) for block in _texts(body)), False


def _texts(body: Any) -> list[dict[str, Any]]:
    out = [{"text": body["system"]}] if body.get("system") else []
    for message in body.get("messages", ()):
        content = message["content"]
        out += [{"text": content}] if isinstance(content, str) else content
    return out


def budget(*, money: bool = False) -> Budget:
    return Budget(count, PriceBook(PriceList()) if money else None)


def asking(*messages: dict[str, Any], system: str = "r" * 1000, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "system": system, "messages": list(messages), **more}


def served(total: int, *, output: int = 10, model: str = MODEL) -> tuple[Call, ...]:
    spent = Spent(total, 0, 0, 0, 0, output)
    return (Call(None, None, None, model, model, None, None, "completed", spent, spent, ""),)


def test_without_an_answer_before_all_is_estimated() -> None:
    found = budget().expect("1", asking(user("x" * 500)), MODEL, "s")
    assert (found.tokens, found.counted, found.usd) == (1500, 0, None)


def test_the_server_s_own_count_of_the_beginning_is_taken_and_only_what_is_new_estimated() -> None:
    subject_ = budget()
    subject_.expect("1", asking(user("x" * 500)), MODEL, "s")
    subject_.ended("1", served(1777))
    found = subject_.expect("2", asking(user("x" * 500), answer("yes"), user("y" * 40)), MODEL, "s")
    assert (found.tokens, found.counted) == (1777 + 3 + 40, 1777)


def test_a_moving_breakpoint_and_another_form_of_a_text_do_not_hide_the_beginning() -> None:
    subject_ = budget()
    marked = [{"type": "text", "text": "x" * 500, "cache_control": MARK}]
    subject_.expect("1", asking(user(marked)), MODEL, "s")
    subject_.ended("1", served(1777))
    assert subject_.expect("2", asking(user("x" * 500), user("y")), MODEL, "s").counted == 1777


@pytest.mark.parametrize(
    "other",
    [
        asking(user("x" * 500), user("y"), system="other"),
        asking(user("x" * 500), user("y"), tools=[{"name": "a"}]),
        asking(user("z" * 500), user("y")),
    ],
    ids=["system", "tools", "message"],
)
def test_another_beginning_has_another_count(other: dict[str, Any]) -> None:
    subject_ = budget()
    subject_.expect("1", asking(user("x" * 500)), MODEL, "s")
    subject_.ended("1", served(1777))
    assert subject_.expect("2", other, MODEL, "s").counted == 0
    assert subject_.expect("3", asking(user("x" * 500), user("y")), "claude-sonnet-5", "s").counted == 0


def test_money_is_what_the_answers_came_to_and_the_input_under_way() -> None:
    subject_ = budget(money=True)
    first = subject_.expect("1", asking(user("x" * 9_000)), MODEL, "s")
    assert (first.spent, first.usd) == (0, Decimal("0.04"))  # 10,000 at 4 USD
    beside = subject_.expect("2", asking(user("z" * 4_000)), MODEL, "s")
    assert (beside.spent, beside.usd) == (Decimal("0.04"), Decimal("0.02"))
    subject_.ended("1", served(12_000, output=1_000))  # 0.048 + 0.02
    subject_.ended("2")  # failed: nothing is known to have been spent
    assert subject_.expect("3", asking(user("q")), MODEL, "s").spent == Decimal("0.068")
    assert subject_.expect("4", asking(user("q")), MODEL, "other").spent == 0


def test_a_beginning_with_breakpoints_is_expected_to_be_read() -> None:
    subject_ = budget(money=True)
    subject_.expect("1", asking(user("x")), MODEL, "s")
    subject_.ended("1", served(100_000))
    marked = user([{"type": "text", "text": "y" * 1_000, "cache_control": MARK}])
    assert subject_.expect("2", asking(user("x"), marked), MODEL, "s").usd == Decimal("0.025")  # read 0.02, write 0.005
    assert subject_.expect("3", asking(user("x"), user("y" * 1_000)), MODEL, "s").usd == Decimal("0.404")


def test_a_call_without_a_price_makes_the_sum_a_lower_bound() -> None:
    subject_ = budget(money=True)
    subject_.expect("1", asking(user("x")), "claude-nobody-9", "s")
    subject_.ended("1", served(50, model="claude-nobody-9"))
    found = subject_.expect("2", asking(user("x")), "claude-nobody-9", "s")
    assert (found.usd, found.complete) == (None, False)


def test_without_a_session_a_conversation_is_one() -> None:
    subject_ = budget(money=True)
    first = subject_.expect("1", asking(user("x")), MODEL, None)
    subject_.ended("1", served(10_000))
    again = subject_.expect("2", asking(user("x"), answer("a"), user("b")), MODEL, None)
    other = subject_.expect("3", asking(user("another")), MODEL, None)
    assert first.session == again.session != other.session
    assert again.spent > 0 and other.spent == 0


def test_nothing_is_left_of_a_request_that_is_over() -> None:
    subject_ = budget(money=True)
    for n, calls in enumerate((served(10), (), served(10))):
        subject_.expect(str(n), asking(user("x")), MODEL, "s")
        subject_.ended(str(n), calls)
        subject_.ended(str(n), calls)  # told twice, counted once
    assert subject_.waiting == 0
    assert subject_.expect("9", asking(user("x")), MODEL, "s").spent == Decimal("0.00048")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "PREFIXES", 5)
    monkeypatch.setattr(subject, "SESSIONS", 5)
    subject_ = budget()
    for n in range(20):
        subject_.expect(str(n), asking(user(f"{n}")), MODEL, f"s{n}")
        subject_.ended(str(n), served(10))
    assert len(subject_._counted) == len(subject_._sessions) == 5


@pytest.mark.parametrize("body", [{}, {"messages": None}, {"messages": "x"}, [], None, {"messages": [1, None, "x"]}])
def test_what_is_no_request_is_estimated_all_the_same(body: Any) -> None:
    found = Budget(lambda body, model: (7, True)).expect("1", body, None, None)
    assert (found.tokens, found.at_least) == (7, True)


@pytest.mark.parametrize(("tokens", "broken"), [(100_000, False), (100_001, True)])
def test_the_limit_itself_may_be_reached(tokens: int, broken: bool) -> None:
    found = excess(Expected("s", tokens, 0, False), Limits(input_tokens=100_000))
    assert (found is not None) == broken
    if found is not None:
        assert "about 100,001 input tokens (an estimate)" in found.text
        assert "more than the limit of 100,000 (guard_max_input_tokens)" in found.text


def test_what_was_counted_and_what_is_unknown_is_said() -> None:
    found = excess(Expected("s", 200, 150, True), Limits(input_tokens=100))
    assert found is not None
    assert "at least 200 input tokens (an estimate, 150 of them counted by the server before)" in found.text


def test_the_limit_of_a_session_counts_what_this_request_would_cost() -> None:
    limits = Limits(usd=Decimal("1.00"))
    assert excess(Expected("s", 1, 0, False, Decimal("0.2"), Decimal("0.8")), limits) is None
    found = excess(Expected("s", 1, 0, False, Decimal("0.2001"), Decimal("0.8"), complete=False), limits)
    assert found is not None and found.option == "guard_max_usd_per_session"
    assert "has spent at least 0.8000 USD" in found.text and "about 0.2001 USD (an estimate)" in found.text


def test_what_was_sent_and_never_answered_may_have_been_spent() -> None:
    subject_ = budget(money=True)
    subject_.expect("1", asking(user("x" * 9_000)), MODEL, "s")
    subject_.ended("1", perhaps_spent=True)
    found = subject_.expect("2", asking(user("q")), MODEL, "s")
    assert (found.spent, found.complete) == (Decimal("0.04"), False)
