"""Measures what the HTTP API bears on one core.

    python -m benchmarks.http [--seconds 10] [--only slim events] [--json]

The server (`sager serve`) is pinned to one core, the broker and the clients to the others. At a pace, `p50_ms` and
`p99_ms` count from when a request was due; `cpu_us` is what the server spends on a request, or an event, whatever else
the machine does, and `core` what share of its core that takes. `flat` is the rate with the next request sent as soon as
there is an answer.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from benchmarks.http import hostile
from benchmarks.http.load import Make, Measured, at_a_pace, connect, flat_out
from benchmarks.http.world import DOMAIN, World, world
from benchmarks.processes import end_in_order

CONNECTIONS = 32
READS, EVENTS, BATCH = 2_000, 1_000, 50
Line = dict[str, Any]


async def measured(here: World, name: str, make: Make, rate: float, seconds: float, each: int = 1) -> Line:
    """A line of the result: at a pace, then flat out.

    Args:
        here: the server.
        name: of the line.
        make: makes the requests.
        rate: requests a second.
        seconds: how long each of the two takes.
        each: how many events a request has.
    """
    clients = await connect(here.port, CONNECTIONS)
    try:
        await at_a_pace(clients, make, rate, 1.0)
        before = here.cpu
        paced = await at_a_pace(clients, make, rate, seconds)
        spent = here.cpu - before
        flat = await flat_out(clients, make, seconds)
    finally:
        for client in clients:
            client.close()
    return {**line(name, paced, spent, each), "flat_per_s": round(each * len(flat.waits) / flat.seconds)}


def line(name: str, found: Measured, spent: float, each: int = 1) -> Line:
    """What a run at a pace came to."""
    done = len(found.waits)
    if set(found.statuses) - {200, 304}:
        raise SystemExit(f"{name}: the server answered {found.statuses}")
    return {
        "what": name,
        "per_s": round(each * done / found.seconds),
        "p50_ms": found.milliseconds(50),
        "p99_ms": found.milliseconds(99),
        "cpu_us": round(1e6 * spent / done / each),
        "core": round(spent / found.seconds, 2),
    }


async def slim(here: World, seconds: float) -> Line:
    """Slim skills, each of another user."""
    return await measured(here, "slim", here.slim, READS, seconds)


async def same(here: World, seconds: float) -> Line:
    """A slim skill that the client has already."""

    def make(_: int) -> bytes:
        return here.get(f"/v1/users/user-1/domains/{DOMAIN}/slim", "If-None-Match: *")

    return await measured(here, "slim, unchanged", make, READS, seconds)


async def batches(here: World, seconds: float) -> Line:
    """Events in batches, acknowledged by Kafka."""
    return await measured(
        here, f"events by {BATCH}", lambda number: here.events(number, BATCH), EVENTS / BATCH, seconds, BATCH
    )


async def single(here: World, seconds: float) -> Line:
    """Events one by one, acknowledged by Kafka."""
    return await measured(here, "events one by one", lambda number: here.events(number, 1), EVENTS, seconds)


CASES: dict[str, Callable[[World, float], Coroutine[Any, Any, Line]]] = {
    "slim": slim,
    "same": same,
    "events": batches,
    "single": single,
    "slow": hostile.slow,
    "huge": hostile.huge,
    "streams": hostile.streams,
}


def main() -> None:
    """Measure and print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each measurement takes")
    parser.add_argument("--users", type=int, default=10_000, help="how many have a slim skill")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--bootstrap", help="a running Kafka")
    parser.add_argument("--kafka", action="store_true", help="start an Apache Kafka (Java 17, Maven)")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each line")
    args = parser.parse_args()
    end_in_order()
    with tempfile.TemporaryDirectory(prefix="sager-http-") as folder, world(args, Path(folder)) as here:
        for name in args.only:
            found = asyncio.run(CASES[name](here, args.seconds))
            print(json.dumps(found) if args.json else "  ".join(f"{k}: {v}" for k, v in found.items()), flush=True)


if __name__ == "__main__":
    main()
