"""`sager worker` and `sager materialize`: the long-running processes of a deployment."""

import logging
import signal
import sys
import threading
from typing import TYPE_CHECKING

import typer

from streams.cli.options import Bootstrap, examples, settings
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from streams.settings import Settings

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class PortTaken(StreamsError, OSError):
    """The metrics port cannot be listened on."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "worker",
        short_help="Run one worker.",
        epilog=examples(
            "sager worker --bootstrap kafka:9092", "SAGER_REASONER=llm SAGER_METRICS_PORT=9101 sager worker"
        ),
    )(worker)
    app.command(
        "materialize",
        short_help="Keep the DuckDB file up to date.",
        epilog=examples(
            "sager materialize --bootstrap kafka:9092", "SAGER_DUCKDB=/data/sager.duckdb sager materialize"
        ),
    )(materialize)


def worker(bootstrap: Bootstrap = None) -> None:
    """Run one worker: contrasts, skills and rankings. Start as many as there are partitions at most.

    Creates the topics that are missing. SIGTERM lets it finish the events that it has begun.
    """
    # Until Faust listens itself: a worker that is told to end while it starts has nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    chosen = _prepare(settings(bootstrap=bootstrap))
    from streams.worker.run import run  # noqa: PLC0415 - Faust takes seconds to import

    _check_port(chosen)
    run(chosen)


def materialize(bootstrap: Bootstrap = None) -> None:
    """Keep the DuckDB file up to date: every event and every version of every skill, in tables.

    Exactly one may run per data folder. SIGTERM lets it commit and publish what it has read.
    """
    chosen = _prepare(settings(bootstrap=bootstrap))
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    from streams import metrics  # noqa: PLC0415
    from streams.materializer.run import materialize as run  # noqa: PLC0415

    _check_port(chosen)
    metrics.serve(chosen)
    run(chosen, stop)


def _prepare(chosen: "Settings") -> "Settings":
    from streams.launch import die_with_parent  # noqa: PLC0415

    die_with_parent()
    logging.basicConfig(level=chosen.log_level, format=FORMAT, stream=sys.stderr)
    return chosen


def _check_port(chosen: "Settings") -> None:
    import socket  # noqa: PLC0415

    if not chosen.metrics_port:
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((chosen.metrics_host, chosen.metrics_port))
        except OSError as error:
            raise PortTaken(
                f"metrics cannot be served on {chosen.metrics_host}:{chosen.metrics_port} ({error.strerror}): "
                "set SAGER_METRICS_PORT to another port, or to 0 for none"
            ) from error
