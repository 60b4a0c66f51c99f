"""The command `weighbridge`: the reading commands of `analyzers`, and those that record."""

from pathlib import Path
from typing import Annotated

import typer

from addon import launch
from analyzers.cli import app, paths, run_app
from analyzers.failure import Failure


@app.command("capture")
def capture_command(
    context: typer.Context,
    captures: Annotated[
        list[str] | None,
        typer.Option(
            "--captures",
            "-c",
            metavar="DIR",
            help="Folder for the capture files. Default: $WEIGHBRIDGE_CAPTURES, then ./captures.",
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", help="Port on 127.0.0.1. Default: the first free one from 8080.")
    ] = None,
    upstream: Annotated[str, typer.Option("--upstream", metavar="URL", help="The API behind the proxy.")] = launch.API,
    forward: Annotated[
        bool,
        typer.Option("--forward", help="Be a forward proxy, for clients that behave otherwise with another base URL."),
    ] = False,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of mitmproxy or of the recorder. May be repeated."),
    ] = None,
) -> None:
    """Records a client: starts mitmdump with the recorder, and says what to export in the client's shell."""
    folder = _folder(context, captures)
    if any(option.partition("=")[0] == "capture_dir" for option in options or ()):
        raise Failure("give the folder with --captures, not with --set capture_dir", 2)
    try:
        setup = launch.Setup(folder, upstream, forward, launch.free_port(port), tuple(options or ()))
        with launch.started(setup) as proxy:
            line, *more = launch.exports(proxy)
            print(f"\nRecording to {folder}. In the shell of the client:\n\n    {line}\n", *more, sep="\n", flush=True)
            code = proxy.wait()
    except launch.NotStarted as error:
        raise Failure(str(error), error.code) from None
    raise typer.Exit(code)


@app.command("demo")
def demo_command(
    context: typer.Context,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the capture. Default: a new temporary one.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Write .jsonl, not .jsonl.zst.")] = False,
) -> None:
    """Records a made-up conversation with a stub of the API and shows what it weighs. Needs no key and no network."""
    from addon import demo

    if context.obj.captures:
        raise Failure("the demo records to the folder given with --out, not with --captures", 2)
    try:
        captures = demo.record(out, plain=plain)
    except (demo.Unavailable, launch.NotStarted) as error:
        raise Failure(str(error), 1) from None
    demo.show(captures)


def _folder(context: typer.Context, captures: list[str] | None) -> Path:
    given = paths(context, captures)
    if len(given) != 1 or given[0] == "-":
        raise Failure("capture writes to one folder: give --captures once", 2)
    folder = Path(given[0])
    if folder.exists() and not folder.is_dir():
        raise Failure(f"{folder} is a file: capture writes to a folder", 2)
    return folder


def main() -> None:
    """Runs the command."""
    run_app(app)


if __name__ == "__main__":
    main()
