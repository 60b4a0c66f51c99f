"""What is timed is what the recorder does."""

import pytest

from analyzers.wire.record import SeenRequest, request_record
from analyzers.wire.weighing import Weigher
from benchmarks.bodies import named
from benchmarks.cost import before_forwarding, measured


@pytest.mark.parametrize("name", ["golden", "1 MB"])
def test_the_cost_that_is_measured_is_that_of_the_recorder(name: str) -> None:
    data = named(name).fresh()
    seen = SeenRequest("1", 0.0, "POST", "https", "api.anthropic.com", 443, "/v1/messages", "messages", (), data)
    record = request_record(seen, Weigher(400), key=bytes(32))
    found = before_forwarding(data)
    assert record["figures"] == {"fields": found.fields, "total": found.total}
    assert record["steps"] == found.steps.as_dict()


def test_no_ratio_is_of_nothing() -> None:
    found = measured(b'{"model":"claude-opus-5-5","messages":[]}', rounds=2)
    assert found.size == 41
    assert found.loads > 0
    assert found.ours > 0
    assert found.times > 1
