"""What it means that two results have the same figures: the one definition for all tests of redaction.

Two JSON results are compared member by member in their order. Structure must be the same; numbers, truth values and
nulls must be the same digit for digit; of texts, those from closed lists (how a call ended, why a cache broke, …),
models and times must be the same. Other texts are labels, names, hashes or quotations: they may differ, but not be
missing. Names of members may differ only where the API has no name of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from analyzers.cli import app

CLOSED = frozenset(
    ("ended", "route", "cause", "kind", "step", "change", "how", "model", "model_requested", "time", "first", "last",
     "start", "unit", "class", "type", "ttl", "code", "day", "state", "certainty", "by", "stop_reason", "role")
)  # fmt: skip


def differences(a: Any, b: Any, where: str = "", name: str = "") -> Iterator[str]:
    """The places where two results differ in more than labels, each with both values."""
    if type(a) is not type(b):
        yield f"{where}: {a!r:.80} / {b!r:.80}"
    elif isinstance(a, dict):
        if len(a) != len(b):
            yield f"{where}: {len(a)} / {len(b)} members"
        for (key, member), (other, again) in zip(a.items(), b.items(), strict=False):
            if key != other and len(key) != len(other):
                yield f"{where}: a member {key!r} / {other!r}"
            yield from differences(member, again, f"{where}.{key}", key)
    elif isinstance(a, list):
        if len(a) != len(b):
            yield f"{where}: {len(a)} / {len(b)} members"
        for index, (member, again) in enumerate(zip(a, b, strict=False)):
            yield from differences(member, again, f"{where}[{index}]", name)
    elif (not isinstance(a, str) or name in CLOSED) and a != b:
        yield f"{where}: {a!r:.80} / {b!r:.80}"


def result(paths: Sequence[Path | str], *command: str) -> Any:
    """What a command prints as JSON about some paths; its exit code where it prints nothing."""
    named = [part for path in paths for part in ("--captures", str(path))]
    run = CliRunner().invoke(app, [*named, *command, "--json"])
    return json.loads(run.stdout) if run.stdout.strip() else run.exit_code
