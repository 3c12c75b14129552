"""The processes of a deployment: worker, materializer, HTTP API, webhooks, console."""

import asyncio
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams import permissions
from streams.cli.options import Bootstrap, examples, settings
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from streams.settings import Settings


app = typer.Typer()


@app.command(short_help="Run one worker.", epilog=examples("sager worker --bootstrap kafka:9092"))
def worker(bootstrap: Bootstrap = None) -> None:
    """Run one worker; start at most one per partition.

    Creates missing topics. On SIGTERM it finishes the events in progress; a second SIGTERM ends it at once.
    """
    # Until Faust installs its own handler: a worker that is still starting has nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    chosen = _process_settings(bootstrap)
    writable_folder(chosen.data_dir, chosen.group)
    from streams import shared_settings  # noqa: PLC0415
    from streams.http import process_health  # noqa: PLC0415
    from streams.worker.runtime.watchdog import WorkerHealth  # noqa: PLC0415

    health = WorkerHealth()
    shared_settings.publish(chosen, shared_settings.ALL)
    process_health.serve(chosen, health)
    from streams.worker.create import run  # noqa: PLC0415 - Faust takes seconds to import

    run(chosen, health)


@app.command(short_help="Keep the DuckDB file up to date.", epilog=examples("sager materialize --bootstrap kafka:9092"))
def materialize(bootstrap: Bootstrap = None) -> None:
    """Keep the DuckDB file up to date with every event and skill.

    Run exactly one per data folder. On SIGTERM it commits and publishes its records; a second SIGTERM ends it at once.
    """
    chosen = _process_settings(bootstrap)
    writable_folder(chosen.data_dir, chosen.group)
    from streams import shared_settings, shutdown  # noqa: PLC0415
    from streams.analytics import run  # noqa: PLC0415
    from streams.http import process_health  # noqa: PLC0415

    health, stop = run.MaterializerHealth(), threading.Event()

    def end(*_: object) -> None:
        shutdown.start(chosen.shutdown_seconds)
        health.set_ending()
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, end)
    shared_settings.publish(chosen, shared_settings.FILTERS)
    process_health.serve(chosen, health)
    run.materialize(chosen, stop, health=health)


@app.command(short_help="Serve the HTTP API.", epilog=examples("SAGER_HTTP_TOKENS=tokens.toml sager serve"))
def serve(bootstrap: Bootstrap = None) -> None:
    """Serve the HTTP API: reads from DuckDB, changes by people to Kafka.

    Every request needs a token of the file in SAGER_HTTP_TOKENS; `sager token new` creates one.
    """
    chosen = _process_settings(bootstrap)
    from streams.serve import run  # noqa: PLC0415

    run(chosen)


@app.command(
    short_help="Serve the console and the HTTP API.", epilog=examples("SAGER_HTTP_TOKENS=tokens.toml sager console")
)
def console(bootstrap: Bootstrap = None) -> None:
    """Serve the console and the HTTP API, next to the data folder.

    Sign in with a token of the file in SAGER_HTTP_TOKENS; its scopes decide which pages and actions are available.
    """
    chosen = _process_settings(bootstrap)
    from streams.serve import run  # noqa: PLC0415

    run(chosen, console=True)


@app.command(
    short_help="Post slim skills to endpoints as they change.",
    epilog=examples("SAGER_WEBHOOKS=webhooks.toml sager webhooks"),
)
def webhooks(
    make_secret: Annotated[
        bool, typer.Option("--new-secret", help="Print a new secret for an endpoint, and exit.")
    ] = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Post changed slim skills, signed, to the endpoints in SAGER_WEBHOOKS.

    Run exactly one. After a restart it continues where it was. docs/webhooks.md shows the file and a receiver.
    """
    from streams.webhooks.messages import new_secret, read  # noqa: PLC0415

    if make_secret:
        print(new_secret())
        return
    chosen = _process_settings(bootstrap)
    if chosen.webhooks is None:
        raise StreamsError("no endpoints: set SAGER_WEBHOOKS to a file of endpoints; docs/webhooks.md shows one")
    endpoints = read(chosen.webhooks)
    from streams import shared_settings  # noqa: PLC0415
    from streams.http import process_health  # noqa: PLC0415
    from streams.webhooks.delivery import WebhooksHealth, run  # noqa: PLC0415

    health = WebhooksHealth()
    shared_settings.publish(chosen, shared_settings.EVERY)
    process_health.serve(chosen, health)
    asyncio.run(run(chosen, health, endpoints))


def writable_folder(folder: Path, group: str | None = None) -> Path:
    """Return the data folder after creating it and making it private."""
    try:
        permissions.restrict(permissions.make_private(folder, group), group)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StreamsError(
            f"cannot write to the data folder {folder} ({error.strerror}): choose another with SAGER_DATA_DIR or "
            "--data-dir"
        ) from error
    return folder


def _process_settings(bootstrap: str | None) -> "Settings":
    """Configure the log and the end with `sager up`; return the settings."""
    chosen = settings(bootstrap=bootstrap)
    from streams.local.children import die_with_parent  # noqa: PLC0415
    from streams.logs import configure  # noqa: PLC0415

    die_with_parent()
    configure(chosen.log_level, chosen.log_format)
    return chosen
