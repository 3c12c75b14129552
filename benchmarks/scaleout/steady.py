"""Updates per second of one, two, three workers, with LLM calls of a fixed duration.

What a place does: `places_busy` is the share of the time that calls to the endpoint were under way, of all that may be
(so many of each worker). Near 1, updates per second are the number of places over the duration of a call, whatever the
machine makes of that duration: `call_seconds` is what the workers saw, the endpoint's delay with the waiting for a
processor on both sides.
"""

import argparse
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.choices import choices, send
from benchmarks.scaleout.workers import SECRET, check, end, start, wait_until_ready
from benchmarks.surroundings import deployment, endpoint, reached_as
from sager_client import EventProducer
from streams.demo.observer import Observer
from streams.kafka import topics

PARTITIONS = 12
"""As many for each of one, two, three, four or six workers."""
USERS_PER_PLACE = 50
"""As many people as a worker has in practice, so that nobody's choice waits for an earlier one of theirs."""
MEASURED = 0.9
"""Share of the choices at which the watch stops: at the end workers run out of them one after the other."""


def measured(count: int, args: argparse.Namespace) -> dict[str, Any]:
    """Updates per second of so many workers."""
    ideal = count * args.in_flight / args.delay
    users, total = USERS_PER_PLACE * count * args.in_flight, int(args.seconds * ideal)
    with tempfile.TemporaryDirectory(prefix="sager-scale-") as held, ExitStack() as stack:
        url = stack.enter_context(endpoint(args.delay, args.spread))
        told = {"reasoner": "llm", "llm_base_url": url, "in_flight": args.in_flight, "partitions": PARTITIONS}
        told |= {"pseudonym_key": SECRET, "propagate": args.graph == "on", "store": args.store}
        settings = stack.enter_context(deployment(args, Path(held), **told))
        topics.ensure(settings)
        workers = [start(settings, number) for number in range(count)]
        for each in workers:
            stack.callback(end, each)
        wait_until_ready(workers)
        observer = Observer(settings, lambda: check(workers))
        stack.callback(observer.close)
        diffs, contrasts = observer.seen.diffs, observer.seen.contrasts
        with EventProducer(connection=reached_as(settings)) as events:
            send(events, choices(total, users))
        # Contrasts are made in a burst, before most of them are asked about; it is none of what is measured.
        observer.wait(lambda: len(contrasts) >= total, "contrasts")
        observer.wait(lambda: len(diffs) >= 2 * count * args.in_flight, "first diffs")
        began, first, machine = time.monotonic(), len(diffs), _machine_ticks()
        cpu, calls = [each.cpu for each in workers], [each.asked() for each in workers]
        # Calls of one duration come in waves: the watch stops where it began in theirs.
        waves = int((total - first) * MEASURED) // (count * args.in_flight)
        observer.wait(lambda: len(diffs) >= first + max(1, waves) * count * args.in_flight, "diffs")
        seconds, done = time.monotonic() - began, len(diffs) - first
        spent = [each.cpu - at for each, at in zip(workers, cpu, strict=True)]
        asked = [
            (now[0] - then[0], now[1] - then[1])
            for now, then in zip([each.asked() for each in workers], calls, strict=True)
        ]
        busy, idle = (now - then for now, then in zip(_machine_ticks(), machine, strict=True))
        observer.wait(lambda: len(diffs) >= total, "last diffs")
    answered, waited = sum(count for count, _ in asked), sum(seconds for _, seconds in asked)
    call_seconds = waited / max(1.0, answered)
    return {
        "workers": count,
        "in_flight_each": args.in_flight,
        "delay": args.delay,
        "spread": args.spread,
        "graph": args.graph,
        "updates": done,
        "updates_per_second": round(done / seconds, 1),
        "ideal": round(ideal, 1),
        "share_of_ideal": round(done / seconds / ideal, 3),
        "places_busy": round(waited / (seconds * count * args.in_flight), 3),
        "call_seconds": round(call_seconds, 3),
        "share_of_what_calls_allow": round(done / seconds * call_seconds / (count * args.in_flight), 3),
        "cpu_ms_per_update": round(1_000 * sum(spent) / done, 2),
        "cores_by_worker": [round(each / seconds, 2) for each in spent],
        "machine_busy": round(busy / (busy + idle), 2),
    }


def _machine_ticks() -> tuple[int, int]:
    """Ticks that all cores were busy, and idle, so far."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, idle
