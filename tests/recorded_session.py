"""Sessions of Claude Code that were recorded by the addon and logged by the client at the same time."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from json_values import DATA

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NEWER, OLDER = "2.1.332", "2.1.258"
"""The first keeps requests in its logs, the second does not."""


@dataclass(frozen=True)
class Recorded:
    """Where the two recordings of one session lie."""

    captures: Path
    logs: Path


def unpacked(version: str, folder: Path) -> Recorded:
    """Writes both recordings below a folder."""
    for name, content in files(version).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return Recorded(folder / "captures", folder / "projects")


@cache
def files(version: str) -> dict[str, bytes]:
    """Every file of the recording by its path: ``captures/…`` and ``projects/…``."""
    packed = (DATA / f"claude-code-{version}-session" / "recorded.tar.zst").read_bytes()
    window = {zstd.DecompressionParameter.window_log_max: 25}
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(packed, options=window))) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]


def logs(version: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every session file: its path, and its records."""
    for name, content in files(version).items():
        if name.endswith(".jsonl") and name.startswith("projects/"):
            yield name, [json.loads(line) for line in content.split(b"\n") if line]


def captured(version: str) -> list[dict[str, Any]]:
    """The ``request`` lines of the capture, each with its ``response`` line as a member."""
    (content,) = (content for name, content in files(version).items() if name.startswith("captures/"))
    requests: dict[str, dict[str, Any]] = {}
    for line in map(json.loads, content.split(b"\n")[:-1]):
        if line["kind"] == "request":
            requests[line["id"]] = line
        elif line["kind"] == "response":
            requests[line["id"]]["response"] = line
    return list(requests.values())
