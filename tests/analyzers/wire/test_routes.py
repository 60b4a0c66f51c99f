"""Which paths are the Messages API's, and which only look like it."""

import pytest

from analyzers.wire.routes import classify, normalised, requested_model


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/messages", "messages"),
        ("/v1/messages/", "messages"),
        ("/v1/messages?beta=true", "messages"),
        ("//v1/messages", "messages"),
        ("/v1/v1/messages", "messages"),
        ("/anthropic/v1/messages", "messages"),
        ("/api/v1/messages", "messages"),
        ("/gateway/acct/x/anthropic/messages", "messages"),
        ("/v1%2Fmessages", "messages"),
        ("/%761/mess%61ges", "messages"),
        ("/v1/messages/count_tokens?beta=true", "count_tokens"),
        ("/v1/messages/batches", "batches"),
        ("/v1/messages/batches/msgbatch_1/cancel", "batches"),
        ("/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke", "bedrock"),
        ("/model/anthropic.claude-x%3A0/invoke-with-response-stream", "bedrock"),
        ("/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Aapplication-inference-profile%2Fab/invoke", "bedrock"),
        ("/v1/projects/p/locations/r/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict", "vertex"),
        ("/v1/projects/p/locations/r/publishers/anthropic/models/claude-opus-4-5@20251101:rawPredict", "vertex"),
        ("/v1/projects/p/locations/r/publishers/anthropic/models/count-tokens:rawPredict", "count_tokens"),
        ("/v1/complete", None),
        ("/v1/chat/completions", None),
        ("/v1/threads/thread_1/messages", None),
        ("/v1/messages/cache_touch", None),
        ("/v1/models", None),
        ("/model/meta.llama3/invoke", None),
        ("/messages", None),
        ("/", None),
        ("", None),
    ],
)
def test_the_table(path: str, route: str | None) -> None:
    assert classify("POST", path) == route
    assert classify("post", path) == route


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/messages/batches/msgbatch_1", "batches"),
        ("/v1/messages/batches/msgbatch_1/results", "batches"),
        ("/v1/messages", None),
        ("/v1/messages/count_tokens", None),
    ],
)
def test_only_the_state_and_results_of_a_batch_are_read_with_get(path: str, route: str | None) -> None:
    assert classify("GET", path) == route


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE"])
def test_other_methods_carry_no_request(method: str) -> None:
    assert classify(method, "/v1/messages") is None


def test_vendors_name_the_model_in_the_path() -> None:
    assert requested_model("/model/anthropic.claude-x%3A0/invoke") == "anthropic.claude-x:0"
    assert (
        requested_model("/v1/projects/p/locations/r/publishers/anthropic/models/claude-x@1:rawPredict") == "claude-x@1"
    )
    assert requested_model("/v1/projects/p/locations/r/publishers/anthropic/models/count-tokens:rawPredict") is None
    assert requested_model("/v1/messages") is None


def test_a_path_is_compared_without_query_doubled_slashes_and_encoding() -> None:
    assert normalised("//a%20b///c/?x=/y#z") == "/a b/c"
