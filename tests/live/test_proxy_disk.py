"""What a real proxy leaves on disk, and what it does when it cannot."""

import contextlib
import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from proxied import BODY, EVENTS, Proxy, Upstream, capture_bytes, patiently, request_bytes

pytestmark = pytest.mark.live


def fetched(proxy: Proxy, request: bytes) -> bytes:
    client = proxy.client()
    client.send(request)
    _, headers = client.head()
    body = client.body(headers)
    client.close()
    return body


def noise(size: int) -> bytes:
    """A request that compresses badly and is not folded."""
    return BODY.replace(b"hello", os.urandom(size // 2).hex().encode())


# --- no credential


def test_no_credential_is_in_any_byte(start: Callable[..., Proxy], upstream: Upstream) -> None:
    upstream.script = lambda call: call.stream(*EVENTS, set_cookie="session=SECRET", x_api_key="SECRET")
    tokens = b'"mcp_servers":[{"type":"url","url":"https://mcp.example","name":"m","authorization_token":"SECRET"}]'
    plain = BODY[:-1] + b"," + tokens + b',"fallback_credit_token":"SECRET"}'
    batch = b'{"requests":[{"custom_id":"a","params":' + plain + b"}]}"
    for number, fold_over in enumerate(("-1", "0", "400")):
        proxy = start(None, options=[f"capture_fold_over={fold_over}", f"capture_dir=captures-{number}"]).up()
        target = f"http://user:SECRET@127.0.0.1:{upstream.port}"
        bare = f"http://127.0.0.1:{upstream.port}"
        for host in (target, bare):
            for path, body in (("/v1/messages?key=SECRET&beta=true", plain), ("/v1/messages/batches", batch)):
                request = request_bytes(
                    "secret", body, host + path, x_api_key="SECRET", authorization="Bearer SECRET", cookie="a=SECRET"
                )
                with contextlib.suppress(EOFError):
                    fetched(proxy, request)
        fetched(proxy, request_bytes("secret", b"", f"{bare}/hooks/SECRET-1", "GET"))
        assert proxy.stop() == 0
        folder = proxy.cwd / f"captures-{number}"
        texts = list(capture_bytes(folder))
        assert sum(text.count(b'"kind":"request"') for text in texts) >= 2
        assert all(b"SECRET" not in text for text in texts)
        assert all(b"SECRET" not in path.read_bytes() for path in folder.iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert all("SECRET" not in line for line in proxy.log().splitlines() if "] #" in line)


# --- several


def test_two_proxies_on_one_folder(start: Callable[..., Proxy], upstream: Upstream, tmp_path: Path) -> None:
    together = tmp_path / "together"
    options = [f"capture_dir={together}"]
    proxies = [start(upstream.url, folder=tmp_path / side, options=options) for side in "ab"]
    for proxy in proxies:
        proxy.up()

    def ask(proxy: Proxy) -> None:
        for number in range(20):
            fetched(proxy, request_bytes(f"both-{number}"))

    threads = [threading.Thread(target=ask, args=(proxy,)) for proxy in proxies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [proxy.stop() for proxy in proxies] == [0, 0]
    assert len(list(together.glob("*.zst"))) == 2
    for proxy in proxies:
        proxy.captures = together
    lines = proxies[0].lines()
    requests = [line for line in lines if line["kind"] == "request"]
    assert [line["requests"] for line in lines if line["kind"] == "end"] == [20, 20]
    assert len({line["id"] for line in requests}) == 40
    assert len({line["fingerprint"] for line in requests}) == 1


def test_rotation_while_answers_are_awaited(start: Callable[..., Proxy], upstream: Upstream) -> None:
    proxy = start(upstream.url, options=["capture_rotate_mb=0.01", "capture_fold_over=-1"]).up()
    for number in range(6):
        fetched(proxy, request_bytes(f"turn-{number}", noise(30_000)))
    assert proxy.stop() == 0
    files = [text.split(b"\n")[:-1] for text in capture_bytes(proxy.captures)]
    assert len(files) == 6
    for lines in files:
        assert [line[9:14] for line in lines] == [b"start", b"reque", b"respo", b'end",']


# --- trouble


def after_trouble(proxy: Proxy, count: int) -> None:
    """Traffic went on, there was one warning, and the number of lost records was told."""
    assert proxy.log().count("cannot record to") == 1
    assert proxy.stop() == 0
    assert f"{count} records could not be written" in proxy.log()
    assert "Traceback" not in proxy.log()


def test_a_folder_that_cannot_be_made(start: Callable[..., Proxy], upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    proxy = start(upstream.url, options=[f"capture_dir={tmp_path}/file/captures"]).up()
    for number in range(5):
        assert fetched(proxy, request_bytes(f"lost-{number}")) == b"".join(EVENTS)
    after_trouble(proxy, 10)


def test_a_limit_of_the_system_in_the_middle_of_a_line(start: Callable[..., Proxy], upstream: Upstream) -> None:
    proxy = start(upstream.url, options=["capture_fold_over=-1"], file_limit=100_000).up()
    for number in range(3):
        assert fetched(proxy, request_bytes(f"line-{number}", noise(60_000))) == b"".join(EVENTS)
    assert fetched(proxy, request_bytes("too-large", noise(400_000))) == b"".join(EVENTS)
    assert proxy.stop() == 0
    kept = {line["headers"]["x-client-request-id"] for line in proxy.lines() if line["kind"] == "request"}
    assert kept == {"line-0", "line-1", "line-2"}
    assert "File too large" in proxy.log()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if mount is None or subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "none", place], check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_and_room_again(start: Callable[..., Proxy], upstream: Upstream, small_disk: Path) -> None:
    proxy = start(
        upstream.url, options=["capture_fold_over=-1", "capture_compress=false", f"capture_dir={small_disk}/captures"]
    ).up()
    proxy.captures = small_disk / "captures"
    ballast = small_disk / "ballast"
    fetched(proxy, request_bytes("before"))
    with contextlib.suppress(OSError):
        ballast.write_bytes(bytes(2_000_000))
    for number in range(5):
        assert fetched(proxy, request_bytes(f"full-{number}", noise(100_000))) == b"".join(EVENTS)
    assert proxy.log().count("cannot record to") == 1
    ballast.unlink()

    def recording() -> bool:
        fetched(proxy, request_bytes("again"))
        return any(line["kind"] == "request" and "again" in line["headers"].values() for line in proxy.lines())

    patiently(recording, "recording again")
    assert "recording to" in proxy.log()
    assert proxy.stop() == 0
    kept = {line["headers"]["x-client-request-id"] for line in proxy.lines() if line["kind"] == "request"}
    assert kept == {"before", "again"}
    assert [line["lost"] for line in proxy.lines() if line["kind"] == "end"][-1] >= 10


@pytest.mark.parametrize("what", ["file", "folder"])
def test_captures_taken_away_while_it_runs(start: Callable[..., Proxy], upstream: Upstream, what: str) -> None:
    proxy = start(upstream.url).up()
    fetched(proxy, request_bytes("before"))
    if what == "folder":
        shutil.rmtree(proxy.captures)
    else:
        for path in proxy.captures.glob("*.zst"):
            path.unlink()
    fetched(proxy, request_bytes("after"))
    assert proxy.stop() == 0
    kinds = [(line["kind"], line.get("lost")) for line in proxy.lines()]
    assert kinds == [("start", None), ("request", None), ("response", None), ("end", 0)]


def test_an_idle_proxy_leaves_nothing(start: Callable[..., Proxy], upstream: Upstream) -> None:
    proxy = start(upstream.url).up()
    fetched(proxy, request_bytes("other", b"", "/v1/models", "GET"))
    assert proxy.stop() == 0
    assert not proxy.captures.exists()
