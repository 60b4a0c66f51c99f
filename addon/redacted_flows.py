"""Flows of mitmproxy as a redacted capture: made into records here, redacted by ``weighbridge redact`` in a process of
its own, which neither takes the proxy's time nor writes to its terminal. Nothing that is not redacted reaches the disk.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from mitmproxy import version

from addon.flow_exchange import exchange_of
from addon.screens import Chosen
from analyzers.capture_lines import lines_of
from analyzers.wire.jsontext import dump
from analyzers.wire.record import FileHead, end_record, start_record

PROJECT: Final = Path(__file__).resolve().parent.parent


class NotWritten(Exception):
    """Nothing was written. The message is one sentence."""


def write_redacted(chosen: Sequence[Chosen], place: str) -> str:
    """Writes the capture and returns the sentence about it. Raises NotWritten."""
    search = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))
    redacting = subprocess.Popen(
        [sys.executable, "-m", "analyzers", "redact", "-", place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": search},
    )
    with redacting:
        assert redacting.stdin is not None
        try:
            for line in capture_lines(chosen):
                redacting.stdin.write(line + b"\n")
            redacting.stdin.close()
        except BrokenPipeError:
            pass  # it ended early, and says why
        except BaseException:
            redacting.kill()  # what it got is not the whole of it
            raise
        redacting.stdin = None
        said, problem = (text.decode("utf-8", "replace").strip() for text in redacting.communicate())
    if redacting.returncode:
        last = problem.rpartition("\n")[2] or f"it ended with code {redacting.returncode}"
        raise NotWritten(last.removeprefix("weighbridge: "))
    return said


def capture_lines(chosen: Sequence[Chosen]) -> Iterator[bytes]:
    """The lines of a capture of these flows, nothing folded."""
    requests = responses = 0
    head = FileHead(time.time(), "weighbridge.redact", version.VERSION, fold_over=-1, modes=(), options={})
    yield dump(start_record(head))
    for number, (flow, route, told) in enumerate(chosen, 1):
        exchange = exchange_of(flow, route, told, bounded=False)
        requests += exchange.request is not None
        responses += exchange.response is not None
        for record in lines_of(exchange, str(number)):
            yield dump(record)
    yield dump(end_record(time.time(), requests=requests, responses=responses, lost=0, unmatched={}))
