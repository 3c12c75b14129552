"""Measures how far more workers do more: updates per second with LLM calls of a fixed duration, by number of workers.

    python -m benchmarks.scaleout --json
    python -m benchmarks.scaleout --workers 1 --workers 2 --in-flight 16 --seconds 20
    python -m benchmarks.scaleout --rebalance --in-flight 32 --store rocksdb

Workers, broker, endpoint and this program share one machine. Where `machine_busy` comes near 1, the machine is the
limit, and not how work is shared: longer calls or fewer in flight show that better, and more cores show more.
`--rebalance` lets a worker join, one leave by SIGTERM and one be killed, and tells how long partitions stood still.
"""

import argparse
import json
import sys

from benchmarks.processes import end_in_order
from benchmarks.scaleout import rebalance, steady
from benchmarks.surroundings import add_broker_arguments


def main() -> None:
    """Measures each number of workers, or what a rebalance costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_broker_arguments(parser)
    parser.add_argument("--workers", type=int, action="append", help="how many; can be given again (default: 1 2 3)")
    parser.add_argument("--in-flight", type=int, default=64, help="calls at a time, each worker (default: 64)")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds that a call takes on average (default: 1)")
    parser.add_argument(
        "--spread",
        type=float,
        default=0.2,
        help="share of it by which a call may take longer or shorter; at 0 calls come in waves (default: 0.2)",
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="ideal duration of each run (default: 30)")
    parser.add_argument("--graph", choices=("on", "off"), default="on", help="the user-item graph (default: on)")
    parser.add_argument("--store", choices=("memory", "rocksdb"), default="memory", help="of tables (default: memory)")
    parser.add_argument("--rebalance", action="store_true", help="let workers come and go under a steady load instead")
    parser.add_argument("--standbys", type=int, default=0, help="rebalance: replicas of tables (default: 0)")
    parser.add_argument("--per-second", type=float, default=24.0, help="rebalance: choices a second (default: 24)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    end_in_order()
    if args.rebalance:
        print(json.dumps(rebalance.measured(args)), flush=True)
        return
    for count in args.workers or (1, 2, 3):
        print(f"{count} workers", file=sys.stderr, flush=True)
        line = steady.measured(count, args)
        print(
            json.dumps(line) if args.json else ", ".join(f"{name} {value}" for name, value in line.items()), flush=True
        )


if __name__ == "__main__":
    main()
