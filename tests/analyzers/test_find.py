"""Where a text is: kept strings are searched, folded ones are told by hash, and the rest is said to be unknown."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from analyzers.exchange import Exchange, Request, Response
from analyzers.find import Findings, Hit, Looked, find, stretches
from analyzers.find_tables import findings_json, print_findings
from analyzers.wire.fold import fold, unfold

HOOK = "SessionStart hook said: the yard is closed on Mondays\n"


def sent(body: Any, *, over: int = -1, time: float | None = None, answer: Any = None) -> Exchange:
    """A request with its answer, as a capture with that threshold gives them back."""
    kept = unfold(fold(body, over))[0]
    response = None if answer is None else Response(status=200, content=unfold(fold(answer, over))[0])
    return Exchange(Request(kept, time=time), response, "completed", "x:1")


def said(*texts: str, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": [{"type": "text", "text": text} for text in texts]}]}


def hits(text: str, *exchanges: Exchange) -> list[Hit]:
    return [hit for one in find(text, exchanges).looked for hit in one.hits]


def places(text: str, body: Any, over: int = -1) -> list[tuple[str, str]]:
    return [(hit.path, hit.how) for hit in hits(text, sent(body, over=over))]


def unknown(text: str, body: Any, over: int) -> tuple[int, int]:
    (one,) = find(text, [sent(body, over=over)]).looked
    return one.unknown, one.unknown_chars


def test_a_kept_string_is_searched() -> None:
    (hit,) = hits("yard", sent(said("no", "the yard, and a yard")))
    assert hit == Hit(
        "request", "messages[0].content[1].text", "content", "as given", chars=20, at=4, count=2, type="text", what=None
    )


def test_a_folded_string_is_told_by_its_hash() -> None:
    (hit,) = hits(HOOK, sent(said("x", HOOK), over=10))
    assert (hit.path, hit.how, hit.form, hit.chars, hit.at, hit.count) == (
        "messages[0].content[1].text", "hash", "as given", len(HOOK), None, 1,
    )  # fmt: skip
    assert hit.what == "hook output"


@pytest.mark.parametrize(
    ("text", "stands", "form"),
    [
        ("a b c", "a b c", "as given"),
        ("a b c\n", "a b c", "without final newline"),
        ("a b c\n\n", "a b c", "without final newline"),
        ("a b c", "a b c\n", "with final newline"),
        ("a\r\nb", "a\nb", "with LF for CRLF"),
        ("a\r\nb\r\n", "a\nb\n", "with LF for CRLF"),
        ("a\r\nb\r\n", "a\nb", "without final newline"),
        ("a\ud83db🙂", "a\ud83db🙂", "as given"),
    ],
)
def test_each_form_is_recognised_by_hash(text: str, stands: str, form: str) -> None:
    (hit,) = hits(text, sent(said(stands), over=0))
    assert (hit.how, hit.form) == ("hash", form)


@pytest.mark.parametrize(
    ("text", "stands", "form", "at"),
    [
        ("a b c\n", "- a b c\n- d", "as given", 2),
        ("a b c\n", "- a b c.", "without final newline", 2),
        ("a\r\nb", "x a\nb", "with LF for CRLF", 2),
        ("a\r\nb", "x a\r\nb", "as given", 2),
    ],
)
def test_each_form_is_found_in_what_was_kept(text: str, stands: str, form: str, at: int) -> None:
    (hit,) = hits(text, sent(said(stands)))
    assert (hit.how, hit.form, hit.at) == ("content", form, at)


def test_it_stays_exact() -> None:
    assert not find("a b", [sent(said("A B", "a  b", "a\nb", 'a\\" b'))]).found


def test_what_is_folded_and_longer_cannot_be_known() -> None:
    body = said("x" * 30, "y" * 31, "z" * 29)
    assert unknown("a" * 30, body, 10) == (1, 31)  # of the same length, another hash: it is another text
    assert unknown("a" * 29 + "\n", body, 10) == (2, 61)  # without its newline it may be in the second too
    assert unknown("a" * 30, body, 30) == (1, 31)
    assert unknown("a" * 30, body, -1) == (0, 0)


def test_a_masked_credential_has_no_hash_and_stays_unknown() -> None:
    token = "tok-1234567890"
    body = {"mcp_servers": [{"type": "url", "authorization_token": token}], "messages": []}
    (one,) = find(token, [sent(body)]).looked
    assert (one.hits, one.unknown, one.unknown_chars) == ((), 1, len(token))


def test_every_part_of_a_request_is_looked_in() -> None:
    body = {
        "system": [{"type": "text", "text": "needle"}],
        "tools": [{"name": "needle", "description": "a needle", "input_schema": {"needle": {"enum": ["needle"]}}}],
        "messages": [
            {"role": "user", "content": "needle"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": ["needle"]}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "needle"}]},
        ],
        "metadata": {"user_id": "needle"},
    }
    found = hits("needle", sent(body))
    assert [(hit.path, hit.what or hit.type) for hit in found] == [
        ("system[0].text", "text"),
        ("tools[0].name", "needle"),
        ("tools[0].description", "needle"),
        ("tools[0].input_schema.(key)", "needle"),
        ("tools[0].input_schema.needle.enum[0]", "needle"),
        ("messages[0].content", "text"),
        ("messages[1].content[0].input.a[0]", "Bash"),
        ("messages[2].content[0].content", "tool_result"),
        ("metadata.user_id", "field"),
    ]
    assert [path for path, how in places("needle", body, 0) if how == "hash"] == [
        "system[0].text",
        "tools[0].input_schema.needle.enum[0]",
        "messages[0].content",
        "messages[1].content[0].input.a[0]",
        "messages[2].content[0].content",
    ]


def test_a_long_key_is_told_by_its_length_and_found_by_hash() -> None:
    key = "k" * 100
    body = {"messages": [{"content": [{"type": "tool_use", "name": "n", "input": {key: "needle", "(key)": key}}]}]}
    inside = "messages[0].content[0].input"
    assert places(key, body) == [(f"{inside}.(key)", "content")] * 2
    assert places(key, body, 64) == [(f"{inside}.(key)", "hash")] * 2
    assert places("needle", body) == places("needle", body, 64) == [(f"{inside}.(100 characters)", "content")]


def test_an_answer_is_looked_in_too() -> None:
    answer = [
        {"type": "thinking", "thinking": "x"},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"c": "needle"}},
    ]
    (hit,) = hits("needle", sent(said("x"), answer=answer))
    assert (hit.side, hit.path, hit.type, hit.what) == ("response", "content[1].input.c", "tool_use", "Bash")
    refused = Exchange(None, Response(400, body={"error": {"message": "a needle"}}, rest={"x": "needle"}), "error", "x")
    assert [(hit.side, hit.path) for hit in hits("needle", refused)] == [
        ("response", "x"), ("response", "body.error.message"),
    ]  # fmt: skip
    assert hits("content", sent({}, answer=[])) == []  # the record's own names are no part of the answer


def test_requests_are_numbered_in_time_order() -> None:
    found = find("b", [sent(said("a"), time=30.0), sent(said("b"), time=10.0), sent(said("c"))])
    assert [(one.n, len(one.hits)) for one in found.looked] == [(1, 0), (2, 1), (3, 0)]


def test_the_same_place_in_consecutive_requests_is_one_line() -> None:
    bodies = [
        said("x"),
        said("needle"),
        said("needle"),
        said("needle!"),
        said("needle", "needle"),
        said("x"),
        said("needle"),
    ]
    found = find("needle", map(sent, bodies))
    assert [(part.hit.path[-7:], part.hit.chars, part.first, part.requests) for part in stretches(found)] == [
        ("0].text", 6, 2, 2), ("0].text", 7, 4, 1), ("0].text", 6, 5, 1), ("1].text", 6, 5, 1), ("0].text", 6, 7, 1),
    ]  # fmt: skip


def test_what_cannot_be_looked_in_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    exchanges = [
        sent(said("x" * 50), over=10),
        Exchange(Request(None, reason="not valid JSON"), Response(200, content=[]), "completed", "x"),
        Exchange(None, None, "unanswered", "x"),
    ]
    found = find("needle", exchanges)
    shown = findings_json(found)
    assert shown["unknown"] == [{"request": 1, "strings": 1, "chars": 50}]
    assert shown["without_body"] == [
        {"request": 2, "reason": "not valid JSON"}, {"request": 3, "reason": "the answer's request was not found"},
    ]  # fmt: skip
    assert shown["without_answer"] == [1, 3]
    print_findings(found)
    printed = capsys.readouterr().out
    for sentence in (
        "not found in what was kept of 3 requests",
        "in 1 folded string of request 1 it could not be looked for: folding keeps only lengths and a hash; "
        "record with --set capture_fold_over=-1 to be able to",
        "request 2 has no body to look in: not valid JSON",
        "of 2 requests there is no answer to look in",
    ):
        assert sentence in printed


def test_a_sentence_names_few_requests(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings(Findings(3, "h", tuple(Looked(n, (), 2, 9, None, True) for n in range(1, 400))))
    assert (
        "in 2 folded strings of request 6, and of 393 requests more (--json names each) it" in capsys.readouterr().out
    )


def test_as_json() -> None:
    found = find(HOOK, [sent(said(HOOK), time=2.0), sent(said("see: " + HOOK), time=1.0)])
    shown = findings_json(found)
    assert (shown["text_chars"], shown["sha256"]) == (len(HOOK), sha256(HOOK.encode()).hexdigest())
    assert [(entry["request"], entry["at"]) for entry in shown["found"]] == [(1, 5), (2, 0)]
    assert set(shown["found"][0]) == {
        "request", "side", "path", "how", "form", "chars", "at", "count", "type", "what",
    }  # fmt: skip
    json.dumps(shown)


def test_the_content_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    found = find(HOOK, [sent(said("before " + HOOK + " after"), answer=[{"type": "text", "text": HOOK}])])
    print_findings(found)
    print(findings_json(found))
    printed = capsys.readouterr().out
    assert "messages[0].content[0].text" in printed and "answer: content[0].text" in printed
    assert not any(word in printed for word in ("yard", "before", "after", "Mondays"))


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="everywhere"):
        find("", [])


@pytest.mark.parametrize(
    "body", ["needle", ["needle"], [[None, "needle"]], {"messages": {"needle": 1}}, {"tools": "needle"}]
)
def test_bodies_of_any_shape(body: Any) -> None:
    assert len(hits("needle", sent(body))) == 1


def test_deep_nesting_costs_no_recursion_and_its_paths_end() -> None:
    deep: Any = "needle"
    for _ in range(5_000):
        deep = {"needle": [deep]}
    found = hits("needle", sent({"messages": deep}))
    assert len(found) == 5_001
    assert max(len(hit.path) for hit in found) < 1_000


def test_a_newline_alone_can_be_looked_for() -> None:
    (hit,) = hits("\n", sent(said("a\nb\n")))
    assert (hit.at, hit.count) == (1, 2)


def test_numbers_are_no_text() -> None:
    assert hits("8080", sent({"max_tokens": 8080})) == []


def test_hits_compare_by_value() -> None:
    (hit,) = hits("needle", sent(said("needle")))
    assert replace(hit, at=1) != hit
