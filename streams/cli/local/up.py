"""`sager up`: everything on this machine, until Ctrl-C."""

import logging
import os
import shlex
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import examples, settings
from streams.cli.output import console, note, row, table
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from streams.cli.local.restore import Restored
    from streams.local.launch import Local
    from streams.settings import Settings

USUAL_PORT = 9092
CHECK_SECONDS = 0.5


class PortTaken(StreamsError, OSError):
    """Somebody else listens where the broker was to."""


class _Asked(BaseException):
    """A signal asked us to end."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "up",
        short_help="Run everything on this machine, until Ctrl-C.",
        epilog=examples("sager up", "sager up --port 19092 --data-dir /tmp/sager"),
    )(up)


def up(
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help=f"The broker's port. [default: {USUAL_PORT}, or a free one if it is taken]"
        ),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where DuckDB files and logs go, instead of SAGER_DATA_DIR.", metavar="DIR")
    ] = None,
) -> None:
    """Run a broker, a worker and the materializer on this machine, until Ctrl-C.

    The broker is in memory. Skills are in the DuckDB file and are given back at the next start. For one machine: a
    production set-up has a Kafka, and `sager worker` and `sager materialize` beside it.
    """
    chosen = settings(data_dir=data_dir)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s", stream=sys.stderr)
    listen = _port(port)
    before = [(name, signal.signal(name, _ask)) for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    try:
        _run(chosen, listen)
    except _Asked:
        note("ended")
    finally:
        for name, handler in before:
            signal.signal(name, handler)


def _ask(number: int, frame: FrameType | None) -> None:
    raise _Asked


def _run(chosen: "Settings", port: int) -> None:
    from streams.cli.local.restore import Restored, restore  # noqa: PLC0415
    from streams.local.launch import Local  # noqa: PLC0415

    restored = Restored()

    def prepare(local_settings: "Settings") -> None:
        nonlocal restored
        restored = restore(local_settings)

    note("starting ...")
    local = Local(chosen, port=port, prepare=prepare)
    try:
        local.start()
        local.wait_until_ready()
        _show(local, restored)
        while True:
            local.check()
            time.sleep(CHECK_SECONDS)
    except _Asked:
        note("ending: the worker finishes, the materializer publishes ...")
        # Who asks again does not want to wait: from here on a signal ends things at once.
        raise
    finally:
        local.stop()


def _port(asked: int | None) -> int:
    """The broker's port; 0 for any.

    Raises:
        PortTaken: the one that was asked for is.
    """
    port = asked or USUAL_PORT
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if asked:
                raise PortTaken(f"port {port} is taken ({error.strerror}): name another with --port") from error
            return 0
    return port


def _show(local: "Local", restored: "Restored") -> None:
    out = console()
    made = table("", "", title="sager is up")
    made.show_header = False
    row(made, ["broker", local.bootstrap])
    row(made, ["DuckDB", f"{local.settings.duckdb_file}  (a new one every {local.settings.publish_seconds:g} s)"])
    for name, url in local.metrics.items():
        row(made, [f"metrics, {name}", url])
    for name, log in local.logs.items():
        row(made, [f"log, {name}", log])
    if restored.skills or restored.interactions:
        told = f"{restored.skills} skills with {restored.diffs} diffs"
        if restored.interactions:
            told += f", {restored.interactions} interactions of users without a skill"
        row(made, ["restored", told])
    out.print(made)
    out.print("In another terminal:\n", *_next_steps(local), sep="\n  ", markup=False, soft_wrap=True)
    out.print("\nCtrl-C ends it; the skills stay in the DuckDB file.", markup=False)
    sys.stdout.flush()


def _next_steps(local: "Local") -> list[str]:
    steps = [f"export SAGER_BOOTSTRAP={local.bootstrap} SAGER_EMBEDDED=true"]
    if os.environ.get("SAGER_DATA_DIR", ".sager") != str(local.settings.data_dir):
        steps.append(f"export SAGER_DATA_DIR={shlex.quote(str(local.settings.data_dir.resolve()))}")
    return [*steps, "sager topics", "sager import path/to/a/data/set", "sager slim --follow"]
