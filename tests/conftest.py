"""How property tests run: no test is timed, since a busy machine is no fault; in CI the same examples each time."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "project",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("project")
