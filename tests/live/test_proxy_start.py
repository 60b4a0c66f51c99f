"""Starting a real mitmdump with the addon: from anywhere, beside other scripts, or not at all and with a reason."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from proxied import ADDON, EVENTS, Call, Proxy, Upstream, patiently, request_bytes

pytestmark = pytest.mark.live


def fetched(proxy: Proxy, request: bytes) -> bytes:
    client = proxy.client()
    client.send(request)
    _, headers = client.head()
    body = client.body(headers)
    client.close()
    return body


@pytest.fixture
def fresh(start: Callable[..., Proxy]) -> Callable[..., Proxy]:
    """Starts the program itself, where what was imported before could matter."""
    return partial(start, warm=False)


# --- not at all


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["capture_fold=0"], "There is no option capture_fold: did you mean capture_fold_over?"),
        (["captures_dir=x"], "There is no option captures_dir: did you mean capture_dir?"),
        (["capture_fold_over=many"], "capture_fold_over=many: must be a whole number of characters"),
        (["capture_rotate_mb"], "capture_rotate_mb needs a value: --set capture_rotate_mb=…"),
        (["capture_compress=true", "capture_compress=false"], "capture_compress is given 2 times: leave one."),
        (["capture_match=~~"], "capture_match=~~: is no mitmproxy filter expression"),
    ],
)
def test_a_wrong_option_stops_it_with_one_sentence(
    start: Callable[..., Proxy], options: list[str], sentence: str
) -> None:
    proxy = start("http://127.0.0.1:9", options=options)
    assert proxy.process.wait(20) == 1
    assert sentence in proxy.log()
    assert "Traceback" not in proxy.log()
    assert not proxy.captures.exists()


def test_a_wrong_value_in_the_configuration_file(start: Callable[..., Proxy], tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.yaml").write_text("capture_fold_over: [1, 2]\n")
    proxy = start("http://127.0.0.1:9", confdir=tmp_path / "own")
    assert proxy.process.wait(20) == 1
    assert "capture_fold_over=[1, 2]: must be" in proxy.log()


def test_without_its_dependencies_it_says_how_to_run_it(fresh: Callable[..., Proxy], tmp_path: Path) -> None:
    blocker = tmp_path / "blocker.py"
    blocker.write_text("import sys\nsys.modules['orjson'] = None\n")
    proxy = fresh("http://127.0.0.1:9", before=[blocker])
    assert proxy.process.wait(20) == 1
    assert "weighbridge cannot run in the Python of this mitmproxy" in proxy.log()
    assert "Traceback" not in proxy.log()


# --- from anywhere


def test_a_relative_path_from_another_folder(fresh: Callable[..., Proxy], upstream: Upstream, tmp_path: Path) -> None:
    script = os.path.relpath(ADDON / "capture.py", tmp_path / "elsewhere")
    proxy = fresh(upstream.url, script=script).up()
    fetched(proxy, request_bytes("relative"))
    assert proxy.finished("relative")[1]["ended"] == "completed"
    assert proxy.stop() == 0


def test_options_from_the_configuration_file(start: Callable[..., Proxy], upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.yaml").write_text("capture_fold_over: 0\ncapture_compress: false\n")
    proxy = start(upstream.url, confdir=tmp_path / "own").up()
    fetched(proxy, request_bytes("configured"))
    assert proxy.stop() == 0
    assert len(list(proxy.captures.glob("*.jsonl"))) == 1
    assert proxy.lines()[0]["fold_over"] == 0


def test_as_a_forward_proxy(start: Callable[..., Proxy], upstream: Upstream) -> None:
    proxy = start(None).up()
    upstream.script = lambda call: call.stream(*EVENTS)
    body = fetched(proxy, request_bytes("forward", path=f"{upstream.url}/v1/messages?beta=true"))
    assert body == b"".join(EVENTS)
    assert upstream.calls[0].first == b"POST /v1/messages?beta=true HTTP/1.1"
    request, response = proxy.finished("forward")
    assert (request["host"], request["port"], request["path"]) == ("127.0.0.1", upstream.port, "/v1/messages")
    assert response["ended"] == "completed"
    assert proxy.lines()[0]["modes"] == ["regular"]


def test_a_filter_instead_of_the_routes(start: Callable[..., Proxy], upstream: Upstream) -> None:
    upstream.script = lambda call: call.answer(200, b"plain", "text/plain")
    proxy = start(upstream.url, options=["capture_match=~u /v1/complete", "capture_fold_over=-1"]).up()
    for path in ("/v1/complete", "/v1/messages"):
        assert fetched(proxy, request_bytes(path.strip("/"), path=path)) == b"plain"
    assert proxy.stop() == 0
    start_line, request, response, end = proxy.lines()
    assert (request["route"], response["ended"], response["body"]) == ("other", "completed", "plain")
    assert start_line["options"]["capture_match"] == "~u /v1/complete"
    assert end["unmatched_paths"] == {"POST /v1/messages": 1}


# --- what it says


def test_warnings_once_and_then_it_works(start: Callable[..., Proxy], upstream: Upstream, name: str) -> None:
    upstream.script = lambda call: call.answer(200, b'{"type":"message","content":[],"usage":{}}')
    proxy = start(
        upstream.url,
        options=["stream_large_bodies=50", "modify_body=/hello/goodbye"],
        arguments=["--listen-host", "0.0.0.0"],
    ).up()
    fetched(proxy, request_bytes(name))
    request, response = proxy.finished(name)
    assert request["streamed"] is True
    assert request["figures"]["total"] > 0
    assert response["ended"] == "completed"
    log = proxy.log()
    assert log.count("mitmproxy listens on 0.0.0.0: other machines can use it") == 1
    assert log.count("stream_large_bodies is on") == 1
    assert log.count("modify_body is on") == 1


def test_one_line_per_exchange(start: Callable[..., Proxy], upstream: Upstream) -> None:
    proxy = start(upstream.url).up()
    for number in range(3):
        fetched(proxy, request_bytes(f"line-{number}"))
    assert proxy.stop() == 0
    lines = [line.split("] ", 1)[1] for line in proxy.log().splitlines() if "] #" in line]
    assert lines == [
        f"#{number} claude-haiku-4-5-20251001  messages 48% model 38% stream 10%  42 chars  "
        "input 12 = 10 in + 2 write + 0 read  output 7  completed"
        for number in (1, 2, 3)
    ]


# --- beside others

RAISING = """
def requestheaders(flow): raise RuntimeError("theirs")
def request(flow): raise RuntimeError("theirs")
def responseheaders(flow): raise RuntimeError("theirs")
def response(flow): raise RuntimeError("theirs")
def error(flow): raise RuntimeError("theirs")
"""


def test_a_script_behind_that_raises(start: Callable[..., Proxy], upstream: Upstream, tmp_path: Path) -> None:
    script = tmp_path / "raising.py"
    script.write_text(RAISING)
    proxy = start(upstream.url, after=[script]).up()
    assert fetched(proxy, request_bytes("raising")) == b"".join(EVENTS)
    assert proxy.finished("raising")[1]["ended"] == "completed"


def test_a_script_in_front_that_changes_the_stream(
    start: Callable[..., Proxy], upstream: Upstream, tmp_path: Path
) -> None:
    script = tmp_path / "shouting.py"
    script.write_text("def responseheaders(flow): flow.response.stream = lambda chunk: chunk.upper()\n")
    proxy = start(upstream.url, before=[script]).up()
    assert fetched(proxy, request_bytes("shouting")) == b"".join(EVENTS).upper()
    _, response = proxy.finished("shouting")
    assert response["content"] == [{"type": "text", "text": "gr\u00fc\u00df dich \U0001f600"}]


# --- loaded again


def test_a_reload_in_the_middle_of_a_stream(
    fresh: Callable[..., Proxy], upstream: Upstream, tmp_path: Path, name: str
) -> None:
    for package in ("addon", "analyzers"):
        shutil.copytree(ADDON.parent / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "addon" / "capture.py"
    go_on = threading.Event()

    def held(call: Call) -> None:
        call.stream(*EVENTS[:3], last=False)
        assert go_on.wait(20)
        for chunk in (*EVENTS[3:], b""):
            call.put(chunk)

    proxy = fresh(upstream.url, script=str(script), options=["capture_fold_over=0"]).up()
    upstream.script = held
    client = proxy.client()
    client.send(request_bytes(name))
    _, headers = client.head()
    assert b"".join(client.chunk() for _ in range(3)) == b"".join(EVENTS[:3])
    os.utime(script, (time.time() + 5,) * 2)
    patiently(lambda: proxy.log().count(f"Loading script {script}") == 2, "the reload")
    go_on.set()
    assert client.body(headers) == b"".join(EVENTS[3:])
    assert fetched(proxy, request_bytes(f"{name}-after")) == b"".join(EVENTS)
    assert proxy.stop() == 0
    lines = proxy.lines()
    kinds = [line["kind"] for line in lines if line["kind"] != "note"]
    assert kinds == ["start", "request", "response", "request", "response", "end"]
    assert {line["ended"] for line in lines if line["kind"] == "response"} == {"completed"}
    assert lines[0]["fold_over"] == 0
    client.close()


def test_loaded_twice_it_says_so(fresh: Callable[..., Proxy], upstream: Upstream) -> None:
    proxy = fresh(upstream.url, after=[Path(f"{ADDON}/../addon/capture.py")])
    assert proxy.process.wait(20) == 1
    assert "An addon called 'weighbridge' already exists." in proxy.log()


def test_its_modules_are_in_nobodys_way(fresh: Callable[..., Proxy], upstream: Upstream, tmp_path: Path) -> None:
    script = tmp_path / "importing.py"
    script.write_text(
        "import importlib.util\n"
        "def running():\n"
        "    for name in ('journal', 'settings', 'tap', 'live', 'recorder'):\n"
        "        assert importlib.util.find_spec(name) is None, name\n"
    )
    proxy = fresh(upstream.url, after=[script]).up()
    assert "AssertionError" not in proxy.log()
