"""Each request is new to whoever sees it, and weighs what it always weighs."""

import pytest

from analyzers.wire.weighing import weighed
from benchmarks.bodies import DATA, body, named, of_clients


@pytest.mark.parametrize("name", ["golden", "1 MB"])
def test_no_two_requests_are_the_same_and_all_are_of_one_size(name: str) -> None:
    one, other = named(name).fresh(), named(name).fresh()
    assert one != other
    assert len(one) == len(other) == len(named(name))


def test_the_golden_body_has_its_published_figures_with_any_nonce() -> None:
    raw, fresh = (DATA / "published-request.json").read_bytes(), named("golden").fresh()
    assert raw != fresh
    before, after = (weighed(data, len(data), 400)[2] for data in (raw, fresh))
    assert before == after
    assert after.total == 82_922


def test_the_large_body_is_a_megabyte_of_strings_that_are_all_folded() -> None:
    data = named("1 MB").fresh()
    assert len(data) == pytest.approx(1_000_000, rel=0.02)
    _, folded, _ = weighed(data, len(data), 400)
    assert {message["content"]["chars"] for message in folded["messages"]} == {2_048}


def test_a_body_without_a_place_for_a_nonce_is_refused() -> None:
    with pytest.raises(ValueError, match="nonce"):
        body(b'{"model":"claude-opus-5-5"}')


def test_there_are_bodies_of_every_client() -> None:
    found = of_clients()
    assert sorted(found) == sorted(path.name.removesuffix(".jsonl.zst") for path in (DATA / "shapes").glob("*.zst"))
    assert all(found.values())
