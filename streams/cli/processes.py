"""The processes of a deployment: worker, materializer, HTTP API, console, webhooks, MCP."""

import asyncio
import os
import re
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from streams import permissions
from streams.cli.options import Bootstrap, examples, require_extra, settings
from streams.cli.output import note
from streams.exceptions import StreamsError
from streams.local import TOKEN_FILE
from streams.logs import configure

if TYPE_CHECKING:
    from streams.settings import Settings


app = typer.Typer()


@app.command(epilog=examples("sager worker --bootstrap kafka:9092"))
def worker(bootstrap: Bootstrap = None) -> None:
    """Run one worker; start at most one per partition.

    Creates missing topics. On SIGTERM it finishes the events in progress; a second SIGTERM ends it at once.
    """
    # Until Faust installs its own handler: a worker that is still starting has nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    chosen = _process_settings(bootstrap)
    writable_folder(chosen.data_dir, chosen.group)
    from streams.http import process_health  # noqa: PLC0415
    from streams.worker.runtime.watchdog import WorkerHealth  # noqa: PLC0415

    health = WorkerHealth()
    process_health.serve(chosen, health, process_health.ALL)
    from streams.worker.create import run  # noqa: PLC0415 - Faust takes seconds to import

    run(chosen, health)


@app.command(epilog=examples("sager materialize --bootstrap kafka:9092"))
def materialize(bootstrap: Bootstrap = None) -> None:
    """Keep the DuckDB file up to date with every event and skill.

    Run exactly one per data folder. On SIGTERM it commits and publishes its records; a second SIGTERM ends it at once.
    """
    chosen = _process_settings(bootstrap)
    writable_folder(chosen.data_dir, chosen.group)
    from streams import shutdown  # noqa: PLC0415
    from streams.analytics import run  # noqa: PLC0415
    from streams.http import process_health  # noqa: PLC0415

    health, stop = run.MaterializerHealth(), threading.Event()

    def end(*_: object) -> None:
        shutdown.start(chosen.shutdown_seconds)
        health.is_ending = True
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, end)
    process_health.serve(chosen, health, process_health.FILTERS)
    run.materialize(chosen, stop, health=health)


@app.command(epilog=examples("SAGER_HTTP_TOKENS=tokens.toml sager serve"))
def serve(bootstrap: Bootstrap = None) -> None:
    """Serve the HTTP API.

    Reads come from DuckDB; changes by people go to Kafka. Every request needs a token of the file in SAGER_HTTP_TOKENS;
    `sager token new` creates one.
    """
    chosen = _process_settings(bootstrap)
    from streams.serve import run  # noqa: PLC0415

    run(chosen)


@app.command(epilog=examples("SAGER_HTTP_TOKENS=tokens.toml sager console"))
def console(bootstrap: Bootstrap = None) -> None:
    """Serve the console and the HTTP API.

    Run it next to the data folder. Sign in with a token of the file in SAGER_HTTP_TOKENS; its scopes decide which pages
    and actions are available.
    """
    chosen = _process_settings(bootstrap)
    from streams.serve import run  # noqa: PLC0415

    run(chosen, console=True)


@app.command(epilog=examples("SAGER_WEBHOOKS=webhooks.toml sager webhooks"))
def webhooks(
    make_secret: Annotated[bool, typer.Option("--new-secret", help="Only print a new secret for an endpoint.")] = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Post slim skills to endpoints as they change.

    Signs each message. Run exactly one. After a restart it continues where it was. docs/webhooks.md shows the file and
    a receiver.
    """
    from streams.webhooks.messages import new_secret, read  # noqa: PLC0415

    if make_secret:
        print(new_secret())
        return
    chosen = _process_settings(bootstrap)
    if chosen.webhooks is None:
        raise StreamsError("no endpoints: set SAGER_WEBHOOKS to a file of endpoints; docs/webhooks.md shows one")
    endpoints = read(chosen.webhooks)
    from streams.http import process_health  # noqa: PLC0415
    from streams.webhooks.delivery import WebhooksHealth, run  # noqa: PLC0415

    health = WebhooksHealth()
    process_health.serve(chosen, health, process_health.EVERY)
    asyncio.run(run(chosen, health, endpoints))


@app.command(epilog=examples("SAGER_URL=https://sager.example SAGER_TOKEN=... sager mcp --user ann --domain films"))
def mcp(
    url: Annotated[
        str, typer.Option(help="Where the HTTP API is.", envvar="SAGER_URL", metavar="URL")
    ] = "http://127.0.0.1:8088",
    user: Annotated[
        str | None, typer.Option(help="The user to act for. [the token's]", envvar="SAGER_MCP_USER", metavar="USER")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="The only domain to act in.", envvar="SAGER_MCP_DOMAIN", metavar="DOMAIN")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="The token, instead of SAGER_TOKEN.", metavar="FILE")] = None,
) -> None:
    """Give an agent a skill, over MCP.

    Serves the Model Context Protocol on standard input and output. Its tools call the HTTP API with one token, which
    limits the users that it can act for.
    """
    require_extra("MCP", "mcp", "mcp")
    from streams.http.limits import is_loopback  # noqa: PLC0415

    chosen = settings()
    configure("WARNING", chosen.log_format)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise StreamsError("SAGER_URL must be the address of the HTTP API, such as http://127.0.0.1:8088")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        note("warning: http sends the token and all answers unencrypted: use https")
    token = _token(token_file, chosen.data_dir)
    from streams.mcp import server  # noqa: PLC0415

    server.run(url.rstrip("/"), token, user or None, domain or None)


def _token(file: Path | None, data_dir: Path) -> str:
    """Return the token of the file, SAGER_TOKEN or `sager up`."""
    path = file or data_dir / TOKEN_FILE
    from_environment = os.environ.get("SAGER_TOKEN", "").strip() if file is None else ""
    try:
        found = from_environment or path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StreamsError(
            f"cannot read a token from {path}: start `sager up`, which writes one there, set SAGER_TOKEN, or name a "
            "file with --token-file. `sager token new` creates tokens"
        ) from error
    if not re.fullmatch(r"sager_[A-Za-z0-9_-]{43}", found):
        where = "SAGER_TOKEN" if from_environment else path
        raise StreamsError(f"{where} has no token: a token begins with sager_, and `sager token new` creates one")
    return found


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

    die_with_parent()
    configure(chosen.log_level, chosen.log_format)
    return chosen
