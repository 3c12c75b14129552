"""Measures the worker beside its peers, on the same choices, in one run: CPU of each peer's own process per choice.

    python -m benchmarks.peers --json
    python -m benchmarks.peers --choices 500 --times 1 --only worker-without-graph --only plain-loop

Each peer runs alone, on topics of its own: the worker (with the graph and without), the same operators in a plain
confluent-kafka loop with a dict, the same in a Quix Streams application, and mem0's `add` of the same choices in words,
with an LLM that answers at once and without one (`infer=False`). The second round goes the other way round. Neither
the plain loop nor Quix Streams has the graph: they are compared with the worker without it, mem0 with the default one.

Quix Streams and mem0 have environments of their own, made by pip when first needed under --environments; a peer that
cannot be had is left out, with its reason. The last line holds the ratios: choices per CPU second of the worker over
those of the plain loop and of Quix Streams; CPU of mem0 over the worker's.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.peers import environments, runs
from benchmarks.peers.runs import Load, Spent
from benchmarks.processes import end_in_order
from benchmarks.running import Ended, worker
from streams.demo.observer import Stalled
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings

WORKER, BARE, LOOP, QUIX, MEM0, RAW = (
    "worker",
    "worker-without-graph",
    "plain-loop",
    "quix-streams",
    "mem0-add",
    "mem0-raw",
)
PEERS = (WORKER, BARE, LOOP, QUIX, MEM0, RAW)
FAILURES = (environments.Unavailable, RuntimeError, Stalled, Ended, OSError)
"""A peer that fails for one of these does not stop the others."""


def measured(name: str, bootstrap: str, load: Load, place: Path) -> Spent:
    """One run of one peer."""
    with tempfile.TemporaryDirectory(prefix="sager-peer-") as held:
        folder = Path(held)
        if name in (MEM0, RAW):
            return runs.mem0(folder, place, load, raw=name == RAW)
        settings = Settings(
            bootstrap=bootstrap,
            embedded=True,
            data_dir=folder,
            prefix=f"{folder.name}.",
            app_id=folder.name,
            session_seconds=6,
            rebalance_seconds=8,
            propagate=name == WORKER,
        )
        starts: Mapping[str, Callable[[], runs.Start]] = {
            LOOP: lambda: runs.plain,
            QUIX: partial(runs.quix, place),
        }
        return runs.on_kafka(settings, load, starts.get(name, lambda: worker)())


def ratios(cpu_ms: Mapping[str, float]) -> dict[str, float | None]:
    """How the worker compares, from CPU milliseconds per choice; None where one was not measured.

    >>> ratios({"worker": 2.0, "worker-without-graph": 1.5, "plain-loop": 0.75, "mem0-add": 40.0})["against_mem0"]
    20.0
    """

    def over(above: str, below: str) -> float | None:
        return round(cpu_ms[above] / cpu_ms[below], 3) if cpu_ms.get(above) and cpu_ms.get(below) else None

    return {
        "against_plain_loop": over(LOOP, BARE),
        "against_quix": over(QUIX, BARE),
        "against_mem0": over(MEM0, WORKER),
        "against_mem0_raw": over(RAW, WORKER),
        "against_mem0_without_graph": over(MEM0, BARE),
        "against_mem0_raw_without_graph": over(RAW, BARE),
    }


def compared(names: Sequence[str], times: int, load: Load, place: Path, tell: Callable[[dict[str, Any]], None]) -> None:
    """Run the peers so many times, every other time in reverse, and tell of each run and of their ratios."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="sager-peers-") as held, EmbeddedBroker(Path(held) / "log") as broker:
        for turn in range(times):
            for name in names[:: -1 if turn % 2 else 1]:
                print(f"{name}: {load.warm} choices to warm up, then {load.choices}", file=sys.stderr, flush=True)
                try:
                    spent = measured(name, broker.bootstrap, load, place)
                except FAILURES as error:
                    print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
                    tell({"peer": name, "error": str(error)})
                    continue
                cpu_ms = 1_000 * spent.cpu / load.choices
                found.setdefault(name, []).append(cpu_ms)
                tell(
                    {
                        "peer": name,
                        "choices": load.choices,
                        "users": load.users,
                        "cpu_ms_per_choice": round(cpu_ms, 3),
                        "choices_per_cpu_second": round(1_000 / cpu_ms, 1),
                        "choices_per_second": round(load.choices / spent.clock, 1),
                    }
                )
    tell(ratios({name: mean(runs) for name, runs in found.items()}))


def tell_reader(line: dict[str, Any]) -> None:
    """A line for a person."""
    print(", ".join(f"{name} {'-' if value is None else value}" for name, value in line.items()), flush=True)


def tell_json(line: dict[str, Any]) -> None:
    """A line for a program."""
    print(json.dumps(line), flush=True)


def main() -> None:
    """Runs the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choices", type=int, default=1_000, help="how many are measured (default: 1000)")
    parser.add_argument("--warm", type=int, default=200, help="how many come before (default: 200)")
    parser.add_argument("--users", type=int, default=100, help="of how many users (default: 100)")
    parser.add_argument("--times", type=int, default=2, help="how often each peer runs (default: 2)")
    parser.add_argument("--only", action="append", choices=PEERS, help="these peers; can be given again (default: all)")
    parser.add_argument(
        "--environments",
        type=Path,
        default=environments.folder(),
        help="where the peers' virtual environments are kept, about 250 MB (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    end_in_order()
    if min(args.choices, args.warm, args.users, args.times) < 1:
        parser.error("--choices, --warm, --users and --times are at least 1")
    load = Load(args.choices, args.warm, args.users)
    compared(args.only or PEERS, args.times, load, args.environments, tell_json if args.json else tell_reader)


if __name__ == "__main__":
    main()
