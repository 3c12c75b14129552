"""Measures how far more workers do more: updates per second with LLM calls of a fixed duration, by number of workers.

    python -m benchmarks.scale --json
    python -m benchmarks.scale --workers 1 --workers 2 --in-flight 16 --seconds 20

Workers, broker, endpoint and this program share one machine. Where `machine_busy` comes near 1, the machine is the
limit, and not how work is shared: fewer calls in flight show that better, and more cores show more.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.choices import choices, send
from benchmarks.processes import cpu_seconds, end_in_order
from benchmarks.surroundings import add_broker_arguments, deployment, endpoint, reached_as
from sager_client import EventProducer
from streams.demo.observer import Observer
from streams.kafka import topics
from streams.local.broker import free_port
from streams.local.launch import child
from streams.local.probes import why_not_ready
from streams.settings import Settings

PARTITIONS = 12
"""As many for each of one, two, three, four or six workers."""
READY_SECONDS = 180.0
STEADY_SECONDS = 10.0
"""All workers are ready for so long: nobody joins any more."""
USERS_PER_CALL = 8
SECRET = "the same for all workers of a benchmark"  # noqa: S105 - of nobody


@contextmanager
def workers(settings: Settings, count: int) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """So many workers of one group, ready.

    Raises:
        SystemExit: one has ended, or is not ready in time.
    """
    ports, started = [free_port() for _ in range(count)], list["subprocess.Popen[bytes]"]()
    with ExitStack() as stack:
        for number, port in enumerate(ports):
            folder = settings.data_dir / f"worker-{number}"
            own = settings.model_dump(exclude_unset=True) | {"data_dir": folder, "metrics_port": port}
            folder.mkdir(mode=0o700)
            process = child(["worker"], Settings(**own), folder / "log")
            stack.callback(_end, process)
            started.append(process)
        _wait_until_ready(ports, started)
        yield started


def _wait_until_ready(ports: Sequence[int], started: Sequence["subprocess.Popen[bytes]"]) -> None:
    give_up = time.monotonic() + READY_SECONDS
    since = time.monotonic()
    while time.monotonic() - since < STEADY_SECONDS:
        _check(started)
        reasons = [why for port in ports if (why := why_not_ready(f"http://127.0.0.1:{port}"))]
        if reasons:
            since = time.monotonic()
        if time.monotonic() > give_up:
            raise SystemExit(f"the workers are not ready: {'; '.join(reasons)}")
        time.sleep(0.2)


def _check(started: Sequence["subprocess.Popen[bytes]"]) -> None:
    if any(process.poll() is not None for process in started):
        raise SystemExit("a worker has ended")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def measured(count: int, args: argparse.Namespace) -> dict[str, Any]:
    """Updates per second of so many workers."""
    ideal = count * args.in_flight / args.delay
    users, total = USERS_PER_CALL * count * args.in_flight, int(args.seconds * ideal)
    with tempfile.TemporaryDirectory(prefix="sager-scale-") as held, ExitStack() as stack:
        url = stack.enter_context(endpoint(args.delay))
        told = {"reasoner": "llm", "llm_base_url": url, "in_flight": args.in_flight, "partitions": PARTITIONS}
        settings = stack.enter_context(
            deployment(args, Path(held), **told, pseudonym_key=SECRET, propagate=args.graph == "on")
        )
        topics.ensure(settings)
        started = stack.enter_context(workers(settings, count))
        observer = Observer(settings, lambda: _check(started))
        stack.callback(observer.close)
        diffs = observer.seen.diffs
        with EventProducer(connection=reached_as(settings)) as events:
            send(events, choices(total, users))
        observer.wait(lambda: len(diffs) >= count * args.in_flight, "first diffs")
        began, first = time.monotonic(), len(diffs)
        before, machine = [cpu_seconds(process.pid) for process in started], _machine_seconds()
        observer.wait(lambda: len(diffs) >= first + int((total - first) * 0.9), "diffs")
        seconds, done = time.monotonic() - began, len(diffs) - first
        spent = [cpu_seconds(process.pid) - at for process, at in zip(started, before, strict=True)]
        busy, idle = (now - then for now, then in zip(_machine_seconds(), machine, strict=True))
        observer.wait(lambda: len(diffs) >= total, "last diffs")
    return {
        "workers": count,
        "in_flight_each": args.in_flight,
        "graph": args.graph,
        "updates_per_second": round(done / seconds, 1),
        "ideal": round(ideal, 1),
        "share_of_ideal": round(done / seconds / ideal, 3),
        "cpu_ms_per_update": round(1_000 * sum(spent) / done, 2),
        "cores_by_worker": [round(each / seconds, 2) for each in spent],
        "machine_busy": round(busy / (busy + idle), 2),
    }


def _machine_seconds() -> tuple[int, int]:
    """Ticks that all cores were busy, and idle, so far."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, idle


def main() -> None:
    """Measures each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_broker_arguments(parser)
    parser.add_argument("--workers", type=int, action="append", help="how many; can be given again (default: 1 2 3)")
    parser.add_argument("--in-flight", type=int, default=32, help="calls at a time, each worker (default: 32)")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds that a call takes (default: 1)")
    parser.add_argument("--seconds", type=float, default=30.0, help="ideal duration of each run (default: 30)")
    parser.add_argument("--graph", choices=("on", "off"), default="on", help="the user-item graph (default: on)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    end_in_order()
    for count in args.workers or (1, 2, 3):
        print(f"{count} workers", file=sys.stderr, flush=True)
        line = measured(count, args)
        print(
            json.dumps(line) if args.json else ", ".join(f"{name} {value}" for name, value in line.items()), flush=True
        )


if __name__ == "__main__":
    main()
