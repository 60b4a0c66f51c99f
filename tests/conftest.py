"""How property tests run: no test is timed, since a busy machine is no fault; in CI the same examples each time.

And what is not done again for each test: the garbage collector does not walk what was imported and collected before the
first one, and the commands of a Typer app are made once, which takes longer than to run them.
"""

import gc
import os
import signal
from functools import cache

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

settings.register_profile(
    "project",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("project")

typer.testing._get_command = cache(typer.testing._get_command)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background by a shell; tests interrupt programs
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
