"""What a program took, with all its processes."""

import sys

import pytest

from benchmarks.programs import peak_of, run
from benchmarks.proxies import NotMeasured

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is asked of /proc")
BUSY = "import time\nwhile time.process_time() < 0.15: pass"
HOLDS = f"held = b'x' * 40_000_000\n{BUSY}"
FORKS = f"""
import os
children = [os.fork() or 0 for _ in range(2)]
if 0 in children:
    exec({HOLDS!r})
    os._exit(0)
for child in children:
    os.waitpid(child, 0)
"""


def test_a_run_tells_what_was_printed_and_how_long_it_took() -> None:
    found = run([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr)"])
    assert (found.output, found.errors) == (b"out\n", b"err\n")
    assert 0 < found.cpu < 10
    assert found.wall > 0


def test_cpu_of_children_counts() -> None:
    found = run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"])
    assert found.cpu >= 0.15
    assert found.wall >= 0.15


def test_a_program_gets_the_environment_it_is_given() -> None:
    found = run([sys.executable, "-c", "import os; print(os.environ['WHERE'])"], {"WHERE": "here"})
    assert found.output == b"here\n"


@LINUX
def test_memory_is_of_all_processes_together() -> None:
    alone, empty = run([sys.executable, "-c", HOLDS]).memory, run([sys.executable, "-c", "pass"]).memory
    forked = run([sys.executable, "-c", FORKS]).memory
    assert alone and forked
    assert 40 < alone < 75
    assert 80 < forked < 180
    assert empty is None or empty < 40


@LINUX
def test_memory_of_this_process_is_not_that_of_the_program() -> None:
    held = b"x" * 150_000_000
    found = run([sys.executable, "-c", BUSY]).memory
    assert found and found < len(held) / 1e6 / 2


def test_a_program_that_fails_was_not_measured() -> None:
    with pytest.raises(NotMeasured, match=r"(?s)ended with exit code 3.*no such thing"):
        run([sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"])


def test_a_program_that_is_not_there_was_not_measured() -> None:
    with pytest.raises(NotMeasured, match=r"/no/such cannot be started"):
        run(["/no/such"])


def test_the_peak_is_the_one_of_the_resident_set() -> None:
    assert peak_of("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t   500 kB\nVmRSS:\t   400 kB\n") == 512_000
    assert peak_of("Name:\tx\nState:\tZ (zombie)\n") is None
