"""A proxy for all tests that do not need one of their own, and places to start others in."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from proxied import Proxy, Upstream
from run_place import Place

from addon.stub_api import StubApi, running

_numbers = itertools.count(1)


@pytest.fixture
def name() -> str:
    """What finds the records of one exchange among all others."""
    return f"exchange-{next(_numbers)}"


@pytest.fixture(scope="session")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mitmproxy's certificates, made once."""
    return tmp_path_factory.mktemp("confdir")


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[Upstream]:
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def upstream(shared_upstream: Upstream) -> Iterator[Upstream]:
    """A server to be told what to do; as new for each test."""
    told = shared_upstream.script
    shared_upstream.calls.clear()
    yield shared_upstream
    shared_upstream.script = told


@pytest.fixture(scope="session")
def proxy(shared_upstream: Upstream, confdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """In front of ``upstream``, with the options as they come. Not for tests that stop or harm it."""
    proxy = Proxy(tmp_path_factory.mktemp("proxy"), shared_upstream.url, confdir=confdir, warm=True).up()
    yield proxy
    assert proxy.stop() == 0
    assert "stumbled" not in proxy.log()
    assert "Addon error" not in proxy.log()


@pytest.fixture
def start(tmp_path: Path, confdir: Path) -> Iterator[Callable[..., Proxy]]:
    """Starts a proxy of one's own: takes the arguments of ``Proxy`` after the folder."""
    started: list[Proxy] = []

    def starting(*args: object, folder: Path = tmp_path, **kwargs: object) -> Proxy:
        started.append(Proxy(folder, *args, **{"confdir": confdir, "warm": True, **kwargs}))  # type: ignore[arg-type]
        return started[-1]

    yield starting
    for proxy in started:
        proxy.process.kill()
        proxy.process.wait()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def stub() -> Iterator[StubApi]:
    with running(StubApi(keep=50)) as stub:
        yield stub
