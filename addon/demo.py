"""`weighbridge demo`: one conversation of four turns, recorded for real, with nothing but made-up content.

The stub of the API runs on a thread of this process, mitmdump with the recorder in a process of its own, and the
vendor's SDK talks through the one to the other. So all that is between a client and a capture is the real thing.
"""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from addon import demo_site as site
from addon import launch
from addon.stub_api import StubApi, running

if TYPE_CHECKING:
    import anthropic

_NOT_STREAMED = 1
"""The turn, counted from 0, whose answer comes whole."""


class Unavailable(Exception):
    """The demo cannot run; the text is one sentence."""


def record(out: Path | None = None, *, plain: bool = False) -> Path:
    """Records the conversation into `out`, by default a new temporary folder.

    Returns that folder, or the new file when something else was in there before.
    Raises Unavailable without the `anthropic` package, launch.NotStarted when the proxy does not come up.
    """
    client_of = _client_maker()
    folder = out or Path(tempfile.mkdtemp(prefix="weighbridge-demo-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be used ({error.strerror}): name another folder with --out") from None
    before = set(folder.glob("*.jsonl*"))
    with running(StubApi(reply=_answer)) as stub, tempfile.TemporaryDirectory(prefix="weighbridge-") as confdir:
        # A configuration of its own: neither does the user's change the demo, nor the demo add to the user's.
        options = (f"confdir={confdir}", f"capture_compress={'false' if plain else 'true'}")
        setup = launch.Setup(folder.absolute(), stub.url, options=options)
        with launch.started(setup) as proxy:
            print(f"The stub of the API is {stub.url}, the proxy in front of it {proxy.url}.", flush=True)
            with client_of(proxy.url) as client:
                _converse(client)
    (new,) = set(folder.glob("*.jsonl*")) - before
    return new if before else folder


def show(captures: Path) -> None:
    """Prints what the reading commands say about the recorded conversation."""
    from analyzers.cli import app

    for command in (["list"], ["show", "4"]):
        arguments = ["--captures", str(captures), *command]
        print(f"\n$ weighbridge {' '.join(arguments)}", flush=True)
        app(arguments, standalone_mode=False)
    sys.stdout.flush()


def _client_maker() -> Any:
    try:
        import anthropic
    except ImportError:
        raise Unavailable("the demo needs the anthropic package: pip install 'weighbridge[demo]'") from None

    def client(url: str) -> "anthropic.Anthropic":
        # Nothing of the user's goes in: no key, no proxy and no certificates from the environment, no tracing.
        return anthropic.Anthropic(
            api_key="sk-ant-demo",
            base_url=url,
            http_client=anthropic.DefaultHttpxClient(trust_env=False),
            open_telemetry=False,
            max_retries=0,
        )

    return client


def _converse(client: "anthropic.Anthropic") -> None:
    """Four requests of 1, 3, 5 and 7 messages, the last message of each ending a cached prefix."""
    messages: list[dict[str, Any]] = []
    for turn, asked in enumerate(site.ASKED):
        content = _results(messages[-1]["content"], asked) if isinstance(asked, list) else [_text(asked)]
        marked = [*content[:-1], {**content[-1], "cache_control": {"type": "ephemeral"}}]
        said = _send(client, [*messages, {"role": "user", "content": marked}], stream=turn != _NOT_STREAMED)
        messages += [{"role": "user", "content": content}, {"role": "assistant", "content": said}]


def _send(client: "anthropic.Anthropic", messages: list[dict[str, Any]], *, stream: bool) -> list[dict[str, Any]]:
    """The blocks of the answer."""
    request: dict[str, Any] = {
        "model": site.MODEL,
        "max_tokens": 2048,
        "system": site.system(),
        "tools": site.tools(),
        "messages": messages,
        "metadata": {"user_id": "office"},
    }
    if stream:
        with client.messages.stream(**request) as events:
            blocks: list[Any] = list(events.get_final_message().content)
    else:
        blocks = list(client.messages.create(**request).content)
    return [block.to_dict() for block in blocks]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _results(said: list[dict[str, Any]], texts: list[str]) -> list[dict[str, Any]]:
    """One result for each tool that the answer before used."""
    used = [block["id"] for block in said if block["type"] == "tool_use"]
    return [
        {"type": "tool_result", "tool_use_id": name, "content": text} for name, text in zip(used, texts, strict=True)
    ]


def _answer(request: dict[str, Any]) -> list[dict[str, Any]]:
    return site.ANSWERED[len(request["messages"]) // 2]
