"""The script file: loads from anywhere, and leaves nothing of ours in the way of others."""

import importlib.machinery
import importlib.util
import logging
import sys
import types
from pathlib import Path

import pytest
from mitmproxy import hooks

import addon

SCRIPT = Path(addon.__file__).with_name("capture.py")


def load(path: str) -> types.ModuleType:
    """As mitmproxy does it: under a name outside every package, its folder first on sys.path, not in sys.modules."""
    loader = importlib.machinery.SourceFileLoader("__mitmproxy_script__.capture", path)
    spec = importlib.util.spec_from_loader("__mitmproxy_script__.capture", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).parent))
    loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_there_is_one_addon_and_it_has_a_name_of_its_own() -> None:
    (recorder,) = load(str(SCRIPT)).addons
    assert recorder.name == "weighbridge"


def test_a_relative_path_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SCRIPT.parent)
    assert load("capture.py").addons


def test_nothing_in_the_file_is_taken_for_a_hook() -> None:
    assert not set(vars(load(str(SCRIPT)))) & set(hooks.all_hooks)


def test_the_names_of_our_modules_shadow_nobody() -> None:
    load(str(SCRIPT))
    assert SCRIPT.parent not in [Path(entry).resolve() for entry in sys.path if entry]
    assert str(SCRIPT.parent.parent) in sys.path


def test_a_missing_dependency_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "addon.recorder", raising=False)
    monkeypatch.delattr(addon, "recorder", raising=False)
    monkeypatch.setitem(sys.modules, "orjson", None)
    for name in [name for name in sys.modules if name.startswith(("addon.", "analyzers."))]:
        monkeypatch.delitem(sys.modules, name)
    module = load(str(SCRIPT))
    assert module.addons == []
    (record,) = caplog.records
    assert record.levelno == logging.ERROR  # which makes mitmproxy stop while it starts
    assert record.exc_info is None
    assert "orjson" in record.getMessage() and "pip install" in record.getMessage()
