"""A command in the user's terminal, run as a shell would run it: same terminal, same process group, its signals passed
on, its exit code ours.

What is typed (Ctrl-C, Ctrl-\\, Ctrl-Z) the terminal gives to the whole group, so the command has it already and must
not get it twice; what somebody sends to this process alone is handed on. When the command stops, this process stops,
so that the shell takes the terminal back, and both go on together.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final, Never

NOT_EXECUTABLE: Final = 126
NOT_FOUND: Final = 127

_TYPED: Final = ("SIGINT", "SIGQUIT", "SIGTSTP")
_SENT: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGBREAK")
_ENDING: Final = ("SIGTERM", "SIGHUP")


class CannotRun(Exception):
    """There is no such command; the text is one sentence, and ``code`` what a shell exits with then."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


class Signalled(BaseException):
    """A signal that ends this process while there is no command to hand it to. ``code``: 128 and its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a command to its end. Its exit code; 128 and the number of the signal that ended it. Raises CannotRun."""
    with _handed_on() as receiver:
        try:
            process = subprocess.Popen(list(command), env=dict(environment))
        except FileNotFoundError:
            raise CannotRun(f"there is no command {command[0]!r}", NOT_FOUND) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CannotRun(f"{command[0]!r} cannot be run ({reason})", NOT_EXECUTABLE) from None
        receiver.set(process)
        code = _ended(process)
    return code if code >= 0 else 128 - code


@contextmanager
def signals_end() -> Iterator[None]:
    """Within the block a signal that would end this process raises Signalled, so that what was begun is taken back."""
    numbers = [number for number in _numbers((*_ENDING, "SIGINT")) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _raise) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, _: FrameType | None) -> Never:
    raise Signalled(number)


class _Receiver:
    """Whom signals are handed on to; those that come before there is a command wait for it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []

    def set(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        for number in self._waiting:
            process.send_signal(number)

    def take(self, number: int, _: FrameType | None) -> None:
        if signal.Signals(number).name in _TYPED and _is_typed_to():
            return
        if self._process is None:
            self._waiting.append(number)
        elif self._process.returncode is None:
            self._process.send_signal(number)


@contextmanager
def _handed_on() -> Iterator[_Receiver]:
    receiver = _Receiver()
    # One that is ignored (nohup) stays so, here and in the command.
    numbers = [number for number in _numbers((*_TYPED, *_SENT)) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, receiver.take) for number in numbers}
    try:
        yield receiver
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _numbers(names: Sequence[str]) -> list[signal.Signals]:
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _is_typed_to() -> bool:
    """Whether what is typed goes to this process group: it is the one in the foreground of a terminal."""
    if os.name != "posix":
        return True  # a console gives Ctrl-C to all that share it
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Waits for the end, and stops with the command whenever that stops. Its return code, as ``subprocess`` has it."""
    if os.name != "posix":
        return process.wait()
    while True:
        try:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
        except ChildProcessError:  # a signal came just then, and handing it on found the process ended
            return process.wait()
        if not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        os.kill(os.getpid(), signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)  # for whoever continues this process alone
