"""What exchanges carry: every plant is found where it was put, no value is shown, and folded strings are unknown."""

import base64
import json
import string
from collections import Counter, defaultdict
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import SHAPES, shape_requests
from planted import Planted, corpus, plants

from analyzers.detect.kinds import CONTENT, KINDS
from analyzers.detect.text import kinds_of
from analyzers.exchange import Exchange, Request, Response
from analyzers.privacy import Finding, Personal, Search, _Members, privacy
from analyzers.privacy_shown import print_privacy, privacy_json
from analyzers.wire.fold import fold, lengths, unfold

MADE = corpus(26)


@pytest.fixture(scope="module")
def found() -> Personal:
    return privacy([one.exchange(at) for at, one in enumerate(MADE)])


def recall(found: Personal, made: list[Planted]) -> tuple[Counter[str], Counter[str]]:
    """Plants by kind, and those found: with their kind, at their place, with their length."""
    by_place: defaultdict[tuple[int, str, str], list[Finding]] = defaultdict(list)
    for one in found.findings:
        by_place[one.request, one.path, one.kind].append(one)
    planted, hit = Counter[str](), Counter[str]()
    for n, plant in plants(made):
        there = [one.chars or 0 for one in by_place[n, plant.path, plant.kind]]
        size = len(plant.value)
        planted[plant.kind] += 1
        hit[plant.kind] += any(chars >= size for chars in there) if plant.kind in CONTENT else size in there
    return planted, hit


def test_planted_data_is_found_in_every_place(found: Personal) -> None:
    planted, hit = recall(found, MADE)
    assert planted.total() >= 2000
    structured = {kind for kind in planted if KINDS[kind].structured}
    assert {kind: (hit[kind], planted[kind]) for kind in structured if hit[kind] < planted[kind]} == {}
    free = [kind for kind in planted if not KINDS[kind].structured]
    assert sum(hit[kind] for kind in free) >= 0.95 * sum(planted[kind] for kind in free)
    assert all(hit[kind] >= 0.9 * planted[kind] for kind in free)


def test_the_corpus_plants_every_kind_but_those_that_are_only_around_others() -> None:
    kinds = {plant.kind for _, plant in plants(MADE)}
    assert set(KINDS) - kinds == {"user_id", "user_context", "environment", "git_status", "shell_output"}


def test_no_value_is_shown_anywhere(found: Personal, capsys: pytest.CaptureFixture[str]) -> None:
    print_privacy(found)
    shown = (
        json.dumps(privacy_json(found))
        + capsys.readouterr().out
        + repr(found.findings[:500])
        + repr(found.values[:500])
    )
    leaked = [plant for _, plant in plants(MADE) if plant.value in shown and plant.path.find(plant.value) < 0]
    assert leaked == []


def test_a_path_never_shows_a_key_that_holds_something(found: Personal) -> None:
    paths = {one.path for one in found.findings}
    assert "tools[0].input_schema.properties.(key)" in paths
    folders = [plant.value for _, plant in plants(MADE) if plant.path.endswith("(key)")]
    assert not [path for path in paths if any(folder in path for folder in folders)]


def said(*texts: str, time: float = 0.0, **body: Any) -> Exchange:
    blocks = [{"type": "text", "text": text} for text in texts]
    return Exchange(
        Request({"messages": [{"role": "user", "content": blocks}], **body}, time=time), None, "unanswered", "x:1"
    )


def places(found: Personal) -> list[tuple[int, str, str, int | None, str]]:
    return [(one.request, one.path, one.kind, one.chars, one.where) for one in found.findings]


def test_a_finding_says_request_place_kind_and_length() -> None:
    found = privacy([said("hello", "write to ada@byron.org", time=2.0), said("nothing", time=1.0)])
    where = "messages[0].content[1] text"
    assert places(found) == [(2, "messages[0].content[1].text", "email", 13, where)]
    assert found.looked == 2


def test_encodings_are_part_of_the_place() -> None:
    inner = json.dumps({"note": base64.b64encode(b"ada@byron.org wrote").decode()})
    user_id = json.dumps({"device_id": "a1b2" * 16, "who": "\u0411 bob@byron.org", "inner": inner})
    found = privacy([said(metadata={"user_id": user_id.replace("bob", "\\u0062ob")})])
    assert [(kind, where) for _, _, kind, _, where in places(found)] == [
        ("device_id", "metadata.user_id"),  # readable as it stands
        ("email", "metadata.user_id, json"),
        ("email", "metadata.user_id, json > json > base64"),
    ]


def test_equal_values_share_a_number_and_know_where_they_came_first() -> None:
    mail = "mail ada@byron.org"
    every = [said("x", time=1.0), said(mail, time=2.0), said(mail, "and bob@byron.org", time=3.0)]
    found = privacy(every)
    numbers = [(one.request, one.value) for one in found.findings]
    assert numbers[0][1] == numbers[1][1] != numbers[2][1]
    assert [(value.kind, value.first, value.requests) for value in found.values] == [("email", 2, 2), ("email", 3, 1)]
    only = privacy(every, only=3)
    assert {one.request for one in only.findings} == {3}
    assert [value.first for value in only.values] == [2, 3]


def test_numbers_of_another_run_say_nothing() -> None:
    one, other = Search(), Search()
    assert one._digest("ada@byron.org") != other._digest("ada@byron.org")


def test_headers_answers_and_errors_are_looked_in() -> None:
    session = "4660e03c-e308-43c7-8121-a7e361515cc6"
    request = Request(
        {"model": "m"}, path="/v1/messages", query="beta=true", headers={"x-claude-code-session-id": [session]}
    )
    content = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cd /home/zokuga/x"}}]
    response = Response(
        200, headers={"request-id": "req_011CTnMJ5Mj1QwMNpF5F8pxh"}, content=content, failure="at 10.1.2.3"
    )
    found = privacy([Exchange(request, response, "completed", "x:1")])
    assert [(path, kind, where) for _, path, kind, _, where in places(found)] == [
        ("request.headers.x-claude-code-session-id[0]", "session_id", "request.headers.x-claude-code-session-id[0]"),
        ("response.content[0].input.command", "home_path", "response.content[0] Bash"),
        ("response.headers.request-id", "request_id", "response.headers.request-id"),
        ("response.failure", "ip_address", "response.failure"),
    ]


def folded(text: str, over: int = 10) -> Exchange:
    body = unfold(fold({"messages": [{"role": "user", "content": text}]}, over))[0]
    return Exchange(Request(body), None, "unanswered", "x:1")


def test_a_folded_string_is_not_known_unless_it_was_told_of() -> None:
    text = "write to ada@byron.org and bob@byron.org"
    found = privacy([folded(text)])
    assert found.findings == () and not found.clean
    assert [(one.request, one.strings, one.chars) for one in found.unknown] == [(1, 1, len(text))]
    sha = lengths(text).sha256
    assert sha is not None
    told = privacy([folded(text)], {sha: kinds_of(text)})
    assert told.unknown == ()
    assert places(told) == [(1, "messages[0].content", "email", None, "messages[0].content text, folded")]
    assert told.findings[0].count == 2
    assert privacy(
        [folded("nothing of that kind is here")], {lengths("nothing of that kind is here").sha256 or "": {}}
    ).clean


def test_the_label_of_a_folded_string_tells_its_kind() -> None:
    text = "<system-reminder>\n# claudeMd\nContents of CLAUDE.md: be brief\n</system-reminder>"
    found = privacy([folded(text)])
    assert [(kind, chars) for _, _, kind, chars, _ in places(found)] == [("claude_md", len(text))]
    assert found.unknown != ()


def test_a_masked_credential_is_counted_and_no_finding() -> None:
    body = {"mcp_servers": [{"type": "url", "authorization_token": "tok-1234567890abc"}]}
    found = privacy([Exchange(Request(unfold(fold(body, 400))[0]), None, "unanswered", "x:1")])
    assert (found.findings, found.masked, found.unknown) == ((), 1, ())


def test_every_string_and_every_key_is_looked_in() -> None:
    key = "ghp_" + string.ascii_letters[:36]
    body = {
        "tools": [{"name": key, "description": key, "input_schema": {key: {"enum": [key]}}}],
        "system": [{"type": "text", "text": key, "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": key}, key, {"type": "a", "x": key}]}
        ],
        "new_field": {"a": [[key]]},
    }  # fmt: skip
    found = privacy([Exchange(Request(body), None, "unanswered", "x:1")])
    assert [one.path for one in found.findings if one.kind == "api_key"] == [
        "tools[0].name", "tools[0].description", "tools[0].input_schema.(key)",
        f"tools[0].input_schema.({len(key)} characters).enum[0]",
        "system[0].text", "messages[0].content[0].data", "messages[0].content[1]", "messages[0].content[2].x",
        "new_field.a[0][0]",
    ]  # fmt: skip
    assert not [one.where for one in found.findings if key in one.where], "a tool's name is part of a place"


def test_numbers_are_looked_at_as_they_are_written() -> None:
    found = privacy([said(card=4111111111111111, phone_number=493090182055, max_tokens=32000)])
    assert {one.kind for one in found.findings} == {"credit_card", "phone"}


def test_recorded_clients_without_their_texts_give_few_false_alarms() -> None:
    """The recorded requests have their texts scrambled: nothing in them is anybody's, but for the ids that stayed."""
    kinds = Counter[str]()
    for path in SHAPES:
        for shape in list(shape_requests(path))[:2]:
            exchange = Exchange(Request(json.loads(shape["raw"])), None, "unanswered", "x:1")
            kinds.update(one.kind for one in privacy([exchange]).findings)
    assert not set(kinds) & {"api_key", "jwt", "private_key", "connection_string", "url_credentials", "secret_value",
                             "iban", "credit_card", "phone", "mac_address", "git_remote"}  # fmt: skip


@given(st.data())
def test_members_that_are_the_very_objects_are_found_as_often_as_equal_ones(data: st.DataObject) -> None:
    said = [
        {"role": "user", "content": "nothing to see here"},
        {"role": "user", "content": "write to ada.lane@quarry.example"},
        {"role": "assistant", "content": [{"type": "text", "text": "in /home/adalane/proj"}]},
        {"role": "user", "content": fold({"x": "a long text of somebody " * 9}, 20)["x"]},
        {"role": "user", "content": "adalane was here, and ada.lane@quarry.example"},
    ]
    bodies = data.draw(st.lists(st.lists(st.sampled_from(said), max_size=5), min_size=1, max_size=6))
    made = [{"messages": list(body), "metadata": {"user_id": {"a": "ada@x.example"}}} for body in bodies]
    shared = [Exchange(Request(body, time=float(at)), None, "unanswered", "x:1") for at, body in enumerate(made)]
    apart = [replace(one, request=replace(one.request, body=deepcopy(one.request.body))) for one in shared]  # type: ignore[type-var]
    assert privacy_json(privacy(shared)) == privacy_json(privacy(apart))


def test_members_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.privacy._MOST_HELD", 500)
    members = _Members()
    kept: list[Any] = [{"a": number} for number in range(50)]
    for one in kept:
        assert not members.passes(one)
        members.met(30)
        members.settle()
    assert 0 < sum(members.passes(one) for one in kept) <= 3
