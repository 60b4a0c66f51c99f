"""The command `weighbridge`: the reading commands of `analyzers`, and those that record."""

import os
from pathlib import Path
from typing import Annotated

import typer

from addon import launch
from addon.writable import why_not_writable
from analyzers.cli import app, paths, run_app
from analyzers.cli_options import AsJson
from analyzers.failure import Failure

CaptureFolder = Annotated[
    list[str] | None,
    typer.Option(
        "--captures",
        "-c",
        metavar="DIR",
        help="Folder for the capture files. Default: $WEIGHBRIDGE_CAPTURES, then ./captures.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="An option of mitmproxy or of the recorder. May be repeated."),
]


@app.command("capture")
def capture_command(
    context: typer.Context,
    captures: CaptureFolder = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", help="Port on 127.0.0.1. Default: the first free one from 8080.")
    ] = None,
    upstream: Annotated[str, typer.Option("--upstream", metavar="URL", help="The API behind the proxy.")] = launch.API,
    forward: Annotated[
        bool,
        typer.Option("--forward", help="Be a forward proxy, for clients that behave otherwise with another base URL."),
    ] = False,
    options: SetOption = None,
) -> None:
    """Records a client: starts mitmdump with the recorder, and says what to export in the client's shell."""
    folder = _folder(context, captures, options)
    if reason := why_not_writable(folder):
        raise Failure(f"{folder} cannot be written ({reason}): give another folder to --captures", 2)
    try:
        setup = launch.Setup(
            folder, upstream, forward=forward, port=launch.free_port(port), options=tuple(options or ()), by="capture"
        )
        with launch.started(setup) as proxy:
            line, *more = launch.exports(proxy)
            print(f"\nRecording to {folder}. In the shell of the client:\n\n    {line}\n", *more, sep="\n", flush=True)
            code = proxy.wait()
    except launch.NotStarted as error:
        raise Failure(str(error), error.code) from None
    raise typer.Exit(code)


@app.command(
    "run", context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] --", no_args_is_help=True
)
def run_command(
    context: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What you would type without us.")],
    captures: CaptureFolder = None,
    forward: Annotated[
        bool,
        typer.Option("--forward", help="Be a proxy that the command asks: how Claude Code is recorded by default."),
    ] = False,
    reverse: Annotated[
        bool,
        typer.Option("--reverse", help="Be the address of the API (ANTHROPIC_BASE_URL): the default for all others."),
    ] = False,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="HOST", help="Decrypt this host too, in forward. May be repeated."),
    ] = None,
    options: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, and no line before it.")] = False,
) -> None:
    """Runs a command and records its requests: weighbridge run -- claude. Its exit code is that of the command."""
    from addon import child, run
    from addon.proxy_variables import Unusable
    from addon.run_environment import Way

    if forward and reverse:
        raise Failure("--forward and --reverse cannot go together", 2)
    way: Way | None = "forward" if forward else "reverse" if reverse else None
    folder = _folder(context, captures, options)
    wanted = run.Wanted(tuple(command), folder, way, tuple(hosts or ()), tuple(options or ()), quiet)
    try:
        code = run.run(wanted, os.environ)
    except (child.CannotRun, launch.NotStarted) as error:
        raise Failure(str(error), error.code) from None
    except Unusable as error:
        raise Failure(str(error), 2) from None
    raise typer.Exit(code)


@app.command("doctor")
def doctor_command(
    context: typer.Context,
    captures: CaptureFolder = None,
    confdir: Annotated[
        Path | None, typer.Option("--confdir", metavar="DIR", help="mitmproxy's folder. Default: ~/.mitmproxy.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Says whether recording works here, and what changes what is recorded. Exits with 1 when something is wrong."""
    from addon.doctor import doctor
    from addon.doctor_shown import doctor_json, doctor_lines
    from analyzers.reading import print_json

    folders = [Path(path) for path in paths(context, captures) if path != "-"]
    if len(folders) != 1:
        raise Failure("give the folder of the captures once, with --captures", 2)
    own = confdir or Path.home() / ".mitmproxy"
    found = doctor(os.environ, folders[0], Path.home(), Path.cwd(), own)
    if as_json or context.obj.as_json:
        print_json(doctor_json(found))
    else:
        print(*doctor_lines(found), sep="\n")
    raise typer.Exit(any(one.state == "wrong" for one in found))


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


def _folder(context: typer.Context, captures: list[str] | None, options: list[str] | None) -> Path:
    if any(option.partition("=")[0] == "capture_dir" for option in options or ()):
        raise Failure("give the folder with --captures, not with --set capture_dir", 2)
    given = paths(context, captures)
    if len(given) != 1 or given[0] == "-":
        raise Failure("what is recorded goes to one folder: give --captures once", 2)
    folder = Path(given[0])
    if folder.exists() and not folder.is_dir():
        raise Failure(f"{folder} is a file: what is recorded goes to a folder", 2)
    return folder


def main() -> None:
    """Runs the command."""
    run_app(app)


if __name__ == "__main__":
    main()
