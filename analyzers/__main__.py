"""``python -m analyzers``: the reading commands alone."""

from analyzers.cli import run

run()
