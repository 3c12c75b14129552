"""Measures one worker's cost per contrast, and slim skills' delays.

    python -m benchmarks.throughput rules --contrasts 3000 --users 200 --graph off
    python -m benchmarks.throughput llm --seconds 30 --in-flight 64 --delay 1.0

`rules` sends choices as fast as the worker takes them; `llm` asks an endpoint that takes a fixed time for each answer
and compares with the ideal of calls in flight / duration. Both then send choices at half of the measured rate and time
their slim skills. The broker is the embedded one unless `--bootstrap` names another. CPU is the worker's own, from
/proc; on a shared machine trust it, and not contrasts per second.

Prints one line of JSON. `bytes_per_contrast` counts keys and values of all topics, without compression of
batches; `stored_bytes_per_contrast` counts batches as the broker keeps them.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import latency
from benchmarks.running import Running
from benchmarks.surroundings import deployment, end_in_order, endpoint
from benchmarks.traffic import Counted
from schemas import SkillDiff
from streams.settings import Settings

WARM, WARM_USERS = 50, 10
FROM_APPS = ("rankings", "selections")


def rules(settings: Settings, args: argparse.Namespace) -> dict[str, object]:
    """Contrasts per second, CPU and bytes per contrast with the rules reasoner."""
    with Running(settings) as running:
        running.send_items()
        running.send(WARM, WARM_USERS, "warm")
        running.wait(WARM, "warm-up")
        before, _ = running.settled()
        _print(f"{args.contrasts} choices of {args.users} users")
        began = time.monotonic()
        running.send(args.contrasts, args.users, "choice", by_ids=args.ids)
        running.wait(WARM + args.contrasts, "diffs")
        seconds, busy = time.monotonic() - began, running.spent - before
        _print("waiting until the worker is idle")
        after, counted = running.settled()
        paced = _at_half(running, args.contrasts / seconds, args)
    return {
        "graph": args.graph,
        "ids": args.ids,
        "contrasts": args.contrasts,
        "users": args.users,
        "contrasts_per_second": round(args.contrasts / seconds, 1),
        "cpu_ms_per_contrast": round(1000 * (after - before) / args.contrasts, 2),
        "cores": round(busy / seconds, 2),
        **per_contrast(counted, args.contrasts),
        **paced,
    }


def llm(settings: Settings, args: argparse.Namespace) -> dict[str, object]:
    """Updates per second, compared with in-flight / duration."""
    users, ideal = 8 * args.in_flight, args.in_flight / args.delay
    total = int(args.seconds * ideal)
    with endpoint(args.delay, args.spread) as url:
        by_llm = settings.model_dump(exclude_unset=True) | {"reasoner": "llm", "llm_base_url": url}
        with Running(Settings(**by_llm, in_flight=args.in_flight)) as running:
            _print(f"{total} choices of {users} users, {args.in_flight} calls of {args.delay:g} s at a time")
            running.send(total, users, "choice")
            running.wait(args.in_flight, "first diffs")
            began, first, before = time.monotonic(), running.diffs, running.spent
            running.wait(first + int((total - first) * 0.95), "diffs")
            seconds, cpu = time.monotonic() - began, running.spent - before
            done = running.diffs - first
            running.wait(total, "last diffs")
            diffs = list(running.outputs[SkillDiff].values())
            _, counted = running.settled()
            paced = _at_half(running, done / seconds, args)
    return {
        "graph": args.graph,
        "updates_per_second": round(done / seconds, 1),
        "ideal": ideal,
        "share_of_ideal": round(done / seconds / ideal, 3),
        "seconds": round(seconds, 1),
        "cpu_ms_per_update": round(1000 * cpu / done, 2),
        "order_kept": _in_order(diffs),
        "by_llm": sum(diff.reasoned_by.reasoner == "llm" for diff in diffs),
        "diffs": len(diffs),
        **per_contrast(counted, total),
        **paced,
    }


def _at_half(running: Running, rate: float, args: argparse.Namespace) -> dict[str, Any]:
    """How long slim skills take at half of a rate."""
    half = args.rate or rate / 2
    _print(f"{half:.1f} choices per second for {args.paced_seconds:g} s")
    waits = latency.measured(running.settings, half, args.paced_seconds, args.users, running.check)
    return {"paced_per_second": round(half, 1), **waits}


def per_contrast(counted: Counted, contrasts: int) -> dict[str, Any]:
    """Messages and bytes per contrast, all topics together and each."""
    records, plain, stored = counted.records, counted.plain, counted.stored
    return {
        "bytes_per_contrast": round(plain.total() / contrasts),
        "bytes_by_topic": {base: round(size / contrasts) for base, size in plain.most_common()},
        "stored_bytes_per_contrast": round(stored.total() / contrasts),
        "stored_bytes_by_topic": {base: round(size / contrasts) for base, size in stored.most_common()},
        "messages_from_apps_per_contrast": round(sum(records[base] for base in FROM_APPS) / contrasts, 2),
        "messages_written_per_contrast": {
            base: round(count / contrasts, 2) for base, count in sorted(records.items()) if base not in FROM_APPS
        },
    }


def _in_order(diffs: list[SkillDiff]) -> bool:
    """Whether every user's contrasts evolved in the order of their choices."""
    latest: dict[str, tuple[int, object]] = {}
    for diff in sorted(diffs, key=lambda d: (d.user_id, d.version)):
        known = latest.get(diff.user_id)
        if known is not None and (known[0] + 1 != diff.version or known[1] > diff.occurred_at):  # type: ignore[operator]
            return False
        latest[diff.user_id] = (diff.version, diff.occurred_at)
    return True


def _print(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=("rules", "llm"))
    made.add_argument("--bootstrap", help="a Kafka of one broker without TLS; by default the embedded one is started")
    made.add_argument("--graph", choices=("on", "off"), default="on", help="the user-item graph (default: on)")
    made.add_argument("--contrasts", type=int, default=3_000, help="rules: how many choices (default: 3000)")
    made.add_argument("--ids", action="store_true", help="rules: lists name items of the catalogue by their ids alone")
    made.add_argument("--users", type=int, default=200, help="rules: of how many users (default: 200)")
    made.add_argument("--seconds", type=float, default=30.0, help="llm: for how long (default: 30)")
    made.add_argument("--in-flight", type=int, default=64, help="llm: calls at a time (default: 64)")
    made.add_argument("--delay", type=float, default=1.0, help="llm: seconds a call takes on average (default: 1)")
    made.add_argument("--spread", type=float, default=0.2, help="llm: share by which calls differ (default: 0.2)")
    made.add_argument("--rate", type=float, help="choices per second while slim skills are timed; default: half")
    made.add_argument("--paced-seconds", type=float, default=20.0, help="for how long they are timed (default: 20)")
    return made


def main() -> None:
    """Runs one benchmark and prints its result as JSON."""
    args = parser().parse_args()
    end_in_order()
    run: Callable[[Settings, argparse.Namespace], dict[str, Any]] = rules if args.what == "rules" else llm
    with (
        tempfile.TemporaryDirectory(prefix="sager-bench-") as folder,
        deployment(Path(folder), args.bootstrap, propagate=args.graph == "on") as settings,
    ):
        print(json.dumps({"benchmark": args.what, **run(settings, args)}))


if __name__ == "__main__":
    main()
