"""The skeleton of a request, as JSON and on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from analyzers.breakpoints import Breakpoint
from analyzers.skeleton import Block, Cycle, Message, Setting, Skeleton, Tool
from analyzers.tables import UNKNOWN, Grid, count, draw, grid, name_of

DEFAULT_TTL = "5m (default)"
type _Lines = list[Grid | Text | str]


def skeleton_json(n: int, shown: Skeleton | None, reason: str | None) -> dict[str, Any]:
    """What ``skeleton --json`` prints; null for what is unknown. ``reason``: why there is no body."""
    return {"n": n, "reason": reason} | (_json(shown) if shown is not None else {"total": None})


def _json(shown: Skeleton) -> dict[str, Any]:
    return {
        "total": {"chars": shown.chars},
        "fields": [asdict(field) for field in shown.fields],
        "tools": None if shown.tools is None else _tools_json(shown, shown.tools),
        "system": [asdict(block) for block in shown.system],
        "cache_control": [asdict(mark) for mark in shown.breakpoints],
        "roles": [{"roles": list(cycle.roles), "times": cycle.times} for cycle in shown.roles],
        "messages": None if shown.messages is None else [asdict(message) for message in shown.messages],
        "labels": [asdict(label) for label in shown.labels],
        "settings": [asdict(setting) for setting in shown.settings],
        "betas": list(shown.betas),
        "batch": [{"path": member.path} | _json(member) for member in shown.batch],
    }


def _tools_json(shown: Skeleton, tools: Sequence[Tool]) -> dict[str, Any]:
    return {
        "count": len(tools),
        "defer_loading": shown.deferred,
        "without_schema": shown.without_schema,
        "longest_first": [
            {
                "path": tool.path,
                "name": tool.name,
                "type": tool.type,
                "chars": tool.chars,
                "description_chars": tool.described,
                "schema_chars": tool.schema_chars,
                "input_schema": tool.schema,
                "defer_loading": tool.deferred,
            }
            for tool in tools
        ],
    }


def print_skeleton(heading: str, shown: Skeleton | None, reason: str | None, most: int | None) -> None:
    """Prints a request in lengths. ``most``: the longest so many tools and blocks, the others counted; None shows
    all."""
    lines: _Lines = [Text(heading, "bold"), ""]
    if shown is None:
        draw(*lines, f"no sizes: {name_of(reason or 'no body')}")
        return
    lines += _lines(shown, most)
    for member in shown.batch[:most]:
        lines += ["", Text(member.path.rstrip("."), "bold"), "", *_lines(member, most)]
    if shown.batch[len(shown.batch[:most]) :]:
        lines += ["", f"{count(len(shown.batch[most:]))} more requests of the batch: --all shows each"]
    draw(*lines)


def _lines(shown: Skeleton, most: int | None) -> _Lines:
    lines: _Lines = [_fields(shown)]
    if shown.tools != ():
        lines += ["", *_tools(shown, most)]
    if shown.system:
        lines += ["", _blocks("system", shown.system)]
    if shown.messages is None or shown.messages:
        lines += ["", f"roles: {role_line(shown.roles)}"]
    if shown.messages:
        lines += ["", _messages(shown.messages, most)]
    if shown.labels:
        lines += ["", _labels(shown)]
    lines += ["", _breakpoints(shown.breakpoints) if shown.breakpoints else "no cache_control"]
    if shown.settings:
        lines += ["", _settings(shown.settings)]
    if shown.betas:
        lines += ["", "betas: " + ", ".join(map(name_of, shown.betas))]
    return lines


def _fields(shown: Skeleton) -> Grid:
    drawn = grid("field", "chars", "content", "structure", "", left=(0, 4))
    for field in shown.fields:
        name = name_of(field.name) or "(body)"
        drawn.add(name, count(field.chars), count(field.content), count(field.structure), field.shape)
    drawn.add("total", count(shown.chars), "", "", "", total=True)
    return drawn


def _tools(shown: Skeleton, most: int | None) -> _Lines:
    if shown.tools is None:
        return ["tools: not a list, so none is known"]
    told = f"tools: {count(len(shown.tools))}, {count(shown.deferred)} with defer_loading"
    drawn = grid("tool", "chars", "description", "schema", "", "place", left=(0, 4, 5))
    for tool in shown.tools[:most]:
        words = [tool.type or "", "defer_loading" if tool.deferred else "", "" if tool.schema else "no input_schema"]
        drawn.add(
            tool.name or UNKNOWN,
            count(tool.chars),
            count(tool.described),
            count(tool.schema_chars),
            ", ".join(filter(None, words)),
            tool.path,
        )
    if hidden := shown.tools[len(shown.tools[:most]) :]:
        drawn.add(f"{len(hidden)} shorter tools", "", "", "", "--all shows each", "")
    return [f"{told}, {count(shown.without_schema)} without input_schema", "", drawn]


def _blocks(name: str, blocks: Sequence[Block]) -> Grid:
    drawn = grid(name, "chars", "type", "what", left=(0, 2, 3))
    for block in blocks:
        drawn.add(name_of(block.path), count(block.chars), block.type or "unknown", block.what or "")
    return drawn


def _messages(messages: Sequence[Message], most: int | None) -> Grid:
    drawn = grid("message", "role", "chars", "type", "what", left=(0, 1, 3, 4))
    rows = [(message, block) for message in messages for block in message.blocks or (None,)]
    kept = _longest([0 if block is None else block.chars for _, block in rows], most)
    for index, (message, block) in enumerate(rows):
        role = message.role or UNKNOWN
        if index not in kept:
            continue
        if block is None:
            drawn.add(message.path, role, "0", "no block", "")
        else:
            drawn.add(name_of(block.path), role, count(block.chars), block.type or "unknown", block.what or "")
    if len(kept) < len(rows):
        drawn.add(f"{count(len(rows) - len(kept))} shorter blocks", "", "", "", "--all shows each")
    return drawn


def _longest(sizes: Sequence[int], most: int | None) -> set[int]:
    """The positions of the longest so many; of all when it is about one."""
    if most is None or len(sizes) <= most + 1:
        return set(range(len(sizes)))
    return set(sorted(range(len(sizes)), key=lambda position: -sizes[position])[:most])


def _labels(shown: Skeleton) -> Grid:
    drawn = grid("what", "blocks", "chars", "first in", left=(0, 3))
    for label in shown.labels:
        drawn.add(label.what, count(label.blocks), count(label.chars), name_of(label.first))
    return drawn


def _breakpoints(marks: Sequence[Breakpoint]) -> Grid:
    drawn = grid("cache breakpoint", "type", "ttl", "scope", left=(0, 1, 2, 3))
    for mark in marks:
        if mark.known:
            drawn.add(name_of(mark.path), mark.type or UNKNOWN, mark.ttl or DEFAULT_TTL, mark.scope or "")
        else:
            drawn.add(name_of(mark.path), "unknown", mark.ttl or UNKNOWN, mark.scope or "")
    return drawn


def _settings(settings: Sequence[Setting]) -> Grid:
    drawn = grid("setting", "value", left=(0, 1))
    for setting in settings:
        drawn.add(name_of(setting.path), setting_value(setting))
    return drawn


def setting_value(setting: Setting) -> str:
    """The value of a setting as JSON writes it, or the length of a text."""
    if setting.value is None:
        return f"({count(setting.chars)} characters)"
    if type(setting.value) is bool:
        return "true" if setting.value else "false"
    return str(setting.value)


def role_line(cycles: Sequence[Cycle]) -> str:
    """Roles in their order, what repeats in brackets: ``(user assistant) ×36 user``."""
    words = []
    for cycle in cycles:
        names = " ".join(role or UNKNOWN for role in cycle.roles)
        if cycle.times == 1:
            words.append(names)
        else:
            words.append(f"({names}) ×{cycle.times}" if len(cycle.roles) > 1 else f"{names} ×{cycle.times}")
    return " ".join(words) or UNKNOWN
