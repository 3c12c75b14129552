"""`sager up` and `sager demo`: the whole pipeline on this machine."""

import os
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import ProgressBars, note, print_fields, print_json_line, print_table, printable
from streams.cli.processes import writable_folder
from streams.exceptions import StreamsError
from streams.local import TOKEN_FILE
from streams.logs import configure

if TYPE_CHECKING:
    from schemas import Attribute
    from streams.local.demo.run import DemoResult
    from streams.local.demo.scenario import Scenario
    from streams.local.pipeline import LocalPipeline

USUAL_PORT, USUAL_HTTP_PORT = 9092, 8088
CHECK_SECONDS = 0.5
PROGRESS_SECONDS = 2.0
READY_SECONDS = 300.0
CATCH_UP_SECONDS = 120.0  # without progress of the worker
USERS, ROUNDS, SHOWN_LINES = 45, 16, 8  # of the demo

app = typer.Typer()


class _StopRequested(BaseException):
    """A signal requested the end."""


@app.command(epilog=examples("sager up", "sager up --port 19092 --data-dir /tmp/sager"))
def up(
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help=f"The broker's port. [{USUAL_PORT}, or a free one]")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder, instead of SAGER_DATA_DIR.", metavar="DIR")] = None,
    http_port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help=f"For API and console. [{USUAL_HTTP_PORT}, or a free one]")
    ] = None,
) -> None:
    """Run everything on this machine, until Ctrl-C.

    Starts broker, worker, materializer, HTTP API and console. A journal in the data folder keeps all accepted records,
    even after a crash: the next start continues from there. The console link signs in once; the file `token` has the
    token for everything else.
    """
    from streams.local.broker import free_port  # noqa: PLC0415
    from streams.local.journal import lock  # noqa: PLC0415
    from streams.local.pipeline import LocalPipeline  # noqa: PLC0415

    chosen = settings(data_dir=data_dir)
    configure("WARNING", chosen.log_format)
    writable_folder(chosen.data_dir, chosen.group)
    # After a kill, the worker of the last `sager up` finishes first, and the broker holds its port until then.
    os.close(lock(chosen))
    broker_port, served = _port(port), _port(http_port, chosen.http_port, "--http-port") or free_port()
    before = [(name, signal.signal(name, _request_stop)) for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    try:
        note("starting ...")
        _run(LocalPipeline(chosen, port=broker_port, http_port=served), was_chosen=port is not None)
    except _StopRequested:
        note("stopped. All accepted events are kept; the next start continues from there")
    finally:
        for name, handler in before:
            signal.signal(name, handler)


def _request_stop(number: int, frame: FrameType | None) -> None:
    raise _StopRequested


def _run(local: "LocalPipeline", *, was_chosen: bool) -> None:
    at_once = False
    try:
        local.start()
        local.wait_until_ready(READY_SECONDS)
        if left := local.finish_work(CATCH_UP_SECONDS, _progress("catching up with restored records"), per_record=True):
            note(f"the worker has made no progress for {CATCH_UP_SECONDS:.0f} s; {left} records wait. See its log")
        try:
            _show(local, was_chosen=was_chosen)
            while True:
                local.check()
                time.sleep(CHECK_SECONDS)
        except _StopRequested:
            at_once = True  # a second signal ends it without waiting
            seconds = local.settings.shutdown_seconds
            note("stopping: the worker finishes, the materializer publishes (press Ctrl-C again to stop at once) ...")
            if left := local.finish_work(seconds, _progress("finishing"), per_record=False):
                note(f"{left} records are not processed after {seconds:.0f} s; the next start continues with them")
            at_once = False
            raise
    finally:
        local.stop(at_once=at_once)


def _progress(stage: str) -> Callable[[int], None]:
    """Return a function that prints the records left every few seconds."""
    printed_at = time.monotonic()

    def report(left: int) -> None:
        nonlocal printed_at
        if time.monotonic() - printed_at > PROGRESS_SECONDS:
            printed_at = time.monotonic()
            note(f"{stage}: {left} records left ...")

    return report


def _port(requested: int | None, usual: int = USUAL_PORT, option: str = "--port") -> int:
    """Return the requested port, else the usual one, else 0."""
    port = requested or usual
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if requested:
                raise StreamsError(f"port {port} is in use ({error.strerror}): choose another with {option}") from error
            return 0
    return port


def _show(local: "LocalPipeline", *, was_chosen: bool) -> None:
    folder = local.settings.data_dir
    fields: dict[str, object] = {"broker": local.bootstrap}
    if local.url is not None:
        fields["console"] = local.link() or f"{local.url}/console"
        fields["HTTP API"] = f"{local.url}  (its documentation: /docs)"
    if local.token is not None:
        fields["token"] = folder / TOKEN_FILE
    fields["DuckDB"] = f"{local.settings.duckdb_file}  (a new one every {local.settings.publish_seconds:g} s)"
    fields |= {f"metrics of the {name}": url for name, url in local.metrics.items()}
    fields |= {f"log of the {name}": log for name, log in local.logs.items()}
    if count := local.restored.get("records"):
        waiting = f"; {unread} of them were not yet processed" if (unread := local.restored["waiting"]) else ""
        fields["restored"] = f"{count} records{waiting}"
    print_fields(fields)
    if local.port != USUAL_PORT and not was_chosen:
        print(f"\nAnother process uses port {USUAL_PORT}: without this line, clients would connect to that one.")
    print(f"\nIn another terminal:\n\n  export SAGER_BOOTSTRAP={local.bootstrap} SAGER_EMBEDDED=true")
    if os.environ.get("SAGER_DATA_DIR", ".sager") != str(folder):
        print(f"  export SAGER_DATA_DIR={shlex.quote(str(folder.resolve()))}")
    print("  sager topics\n  sager import path/to/a/data/set\n  sager policy show USER\n")
    print("Press Ctrl-C to stop. The next `sager up` in this folder continues where this one stopped.")
    sys.stdout.flush()


@app.command(epilog=examples("sager demo", "SAGER_REASONER=llm sager demo --users 6 --rounds 2 --json"))
def demo(
    users: Annotated[int, typer.Option(min=1, help="How many users choose.")] = USERS,
    rounds: Annotated[int, typer.Option(min=1, max=500, help="Choices of each user.")] = ROUNDS,
    seed: Annotated[int, typer.Option(help="Decides who chooses what.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the DuckDB file and the logs go.")] = None,
    as_json: AsJson = False,
) -> None:
    """Stream choices through a local pipeline.

    Shows the learned skills. Starts the embedded broker, a worker and the materializer, sends events as an app would,
    and stops by itself. Exit code 0: every event was processed, and the log, the skills topic and DuckDB agree.
    """
    from streams.local.demo.run import Demo  # noqa: PLC0415
    from streams.local.demo.scenario import Scenario  # noqa: PLC0415
    from streams.local.journal import path_of  # noqa: PLC0415
    from streams.local.pipeline import LocalPipeline  # noqa: PLC0415

    folder = writable_folder(data_dir or Path(tempfile.gettempdir()) / f"sager-demo-{time.strftime('%Y%m%d-%H%M%S')}")
    # The demo waits for commits and for the last snapshot.
    units = {"trains": {"price": {"unit": "EUR"}, "length": {"unit": "minutes"}}}
    chosen = settings(data_dir=folder, publish_seconds=1.0, batch_seconds=0.3, commit_seconds=0.1, numbers=units)
    if path_of(chosen).exists():
        raise StreamsError(f"{folder} has the events of an earlier run: choose a new folder with --data-dir")
    scenario = Scenario(users, rounds, seed)
    note(f"sager demo: {scenario.describe()}. The logs are in {folder}")
    # SystemExit runs the context managers below, which end the child processes in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with ProgressBars() as progress, LocalPipeline(chosen) as local:
        result = Demo(scenario, local, progress.update).run()
    # At its end, the materializer has published everything.
    figures = {**result.figures, "duckdb": chosen.duckdb_file, "duckdb_agrees": result.is_in_duckdb(chosen)}
    if as_json:
        print_json_line(figures)
    else:
        _show_users(result, scenario)
        print_fields(figures)
        print(f"\nQuery the file: sager sql --duckdb {shlex.quote(str(chosen.duckdb_file))} --list")
    if chosen.warmup_rounds is not None and (unlearned := figures["contrasts"] - figures["diffs"]):
        rounds_set = f"SAGER_WARMUP_ROUNDS={chosen.warmup_rounds}"
        note(f"{rounds_set}: skills stopped learning, so {unlearned} of {figures['contrasts']} choices changed none")
    is_complete = figures["contrasts"] == figures["selections"] and not figures["dead_letters"]
    if not (is_complete and figures["log_is_verified"] and figures["duckdb_agrees"]):
        raise StreamsError(f"some events were not processed correctly. See the logs in {folder}")


def _show_users(result: "DemoResult", scenario: "Scenario") -> None:
    """Print the skill with the most discovered lines, and the traveller's, before and after."""
    skills = result.skills
    best = max(skills, key=lambda key: sum(line.source == "discovered" for line in skills[key].attributes))
    for key in dict.fromkeys((best, *(each for each in skills if each[1] == "trains"))):
        skill = skills[key]
        before, after = _lines(result.firsts[key].seed or ()), _lines(skill.attributes)
        columns = ("before: the prior", f"after {skill.contrasts} choices")
        print_table(columns, zip_longest(before, after, fillvalue=""), f"{key[0]} · {key[1]}")
        if (slim := result.slims.get(key)) is not None:
            print(printable(f"slim skill: {slim.text} ({slim.tokens} tokens)"))
        print(f"hidden policy: {', '.join(scenario.policy(key[0]))}\n")


def _lines(attributes: "Iterable[Attribute]") -> list[str]:
    from operators.learning.document import format_line  # noqa: PLC0415

    lines = sorted((a for a in attributes if a.tier), key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
    more = [f"and {len(lines) - SHOWN_LINES} more"] if len(lines) > SHOWN_LINES else []
    return [*map(format_line, lines[:SHOWN_LINES]), *more]
