"""A command in a terminal: its exit code, its signals, its stops."""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from addon import child
from addon.child import CannotRun, Signalled

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0

RUNNER = "import os, sys; from addon import child; sys.exit(child.run(sys.argv[1:], os.environ))"

TELLS = """
import os, signal, sys, time
count = 0
def tell(number, frame):
    global count
    count += 1
    print(signal.Signals(number).name, count, flush=True)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGQUIT"):
    if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
        signal.signal(getattr(signal, name), tell)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        break
print("ended", count, flush=True)
sys.exit(count)
"""


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_the_commands(code: int) -> None:
    assert child.run([sys.executable, "-c", f"raise SystemExit({code})"], os.environ) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_command_that_a_signal_ends_is_128_and_its_number(number: signal.Signals) -> None:
    assert child.run(["sh", "-c", f"kill -{number} $$"], os.environ) == 128 + number


def test_the_environment_is_the_one_that_is_given() -> None:
    script = "import os; raise SystemExit(os.environ.get('A') == 'b' and 'HOME' not in os.environ and 3)"
    assert child.run([sys.executable, "-c", script], {"A": "b"}) == 3


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CannotRun, match="there is no command") as caught:
        child.run(["/nowhere/at/all"], {})
    assert caught.value.code == 127


def test_a_command_that_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotRun, match="cannot be run") as caught:
        child.run([str(tmp_path / "file")], {})
    assert caught.value.code == 126


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_end_what_was_begun_while_there_is_no_command(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Signalled) as caught, child.signals_end():
        os.kill(os.getpid(), number)
        signal.pause()
    assert caught.value.code == 128 + number
    assert signal.getsignal(number) == before


def test_handlers_are_as_they_were_after_the_command() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTSTP, signal.SIGTERM)}
    child.run([sys.executable, "-c", ""], os.environ)
    assert {number: signal.getsignal(number) for number in before} == before


class Session:
    """The runner with a command that tells of its signals, in a session without a terminal or with one."""

    def __init__(self, *, terminal: bool) -> None:
        self.text = ""
        self.master, slave = os.openpty() if terminal else (-1, -1)
        to_it: int = slave if terminal else subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER, sys.executable, "-c", TELLS],
            stdin=to_it,
            stdout=to_it,
            stderr=slave if terminal else None,
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if terminal else None,
        )
        if terminal:
            os.close(slave)
            self._from = self._to = self.master
        else:
            assert self.process.stdout and self.process.stdin
            self._from, self._to = self.process.stdout.fileno(), self.process.stdin.fileno()
        self.command = int(self.until("ready ").split()[-1])

    def until(self, mark: str) -> str:
        """Everything up to the end of the line that has a mark."""
        end = time.monotonic() + PATIENCE
        while not (mark in self.text and "\n" in self.text.partition(mark)[2]):
            assert select.select([self._from], [], [], max(end - time.monotonic(), 0))[0], self.text
            data = os.read(self._from, 4096)
            assert data, self.text
            self.text += data.decode()
        before, found, after = self.text.partition(mark)
        line, _, self.text = after.partition("\n")
        return before + found + line

    def type(self, text: str) -> None:
        os.write(self._to, text.encode())

    def state(self, pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    def ends_with(self) -> int:
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        for pid in (self.process.pid, self.command):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        if self.master >= 0:
            os.close(self.master)


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    session = Session(terminal=request.param == "terminal")
    yield session
    session.close()


with_terminal = pytest.mark.parametrize("session", ["terminal"], indirect=True)
without_terminal = pytest.mark.parametrize("session", ["pipes"], indirect=True)
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@without_terminal
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1])
def test_a_signal_to_us_reaches_the_command_once(session: Session, number: signal.Signals) -> None:
    session.process.send_signal(number)
    assert session.until(number.name).endswith(" 1")
    session.type("end\n")
    assert session.until("ended").endswith(" 1")
    assert session.ends_with() == 1


@with_terminal
def test_what_is_typed_reaches_the_command_once_and_does_not_end_us(session: Session) -> None:
    session.type("\x03")
    assert session.until("SIGINT").rstrip().endswith(" 1")
    session.type("\x1c")
    assert session.until("SIGQUIT").rstrip().endswith(" 2")
    session.type("end\n")
    assert session.until("ended").rstrip().endswith(" 2")
    assert session.ends_with() == 2


@with_terminal
def test_a_command_in_a_terminal_can_still_be_ended_from_elsewhere(session: Session) -> None:
    session.process.send_signal(signal.SIGTERM)
    assert session.until("SIGTERM").rstrip().endswith(" 1")


@linux
@without_terminal
@pytest.mark.parametrize("to", ["us", "the command"])
def test_we_stop_and_go_on_with_the_command(session: Session, to: str) -> None:
    if to == "us":
        session.process.send_signal(signal.SIGTSTP)  # no shell above: the kernel takes no SIGTSTP then, by default
        os.kill(session.command, signal.SIGSTOP)
    else:
        os.kill(session.command, signal.SIGSTOP)
    eventually(lambda: session.state(session.command) == "T" and session.state(session.process.pid) == "T")
    session.process.send_signal(signal.SIGCONT)
    eventually(lambda: session.state(session.command) != "T")
    session.type("end\n")
    assert session.ends_with() == 0


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    script = "import signal; raise SystemExit(5 if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else 6)"
    command = ["nohup", sys.executable, "-c", RUNNER, sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 5
