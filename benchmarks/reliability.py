"""Runs the fault scenarios many times, and prints the table of docs/reliability.md.

    python -m benchmarks.reliability --times 50              # on Apache Kafka; an hour or so
    python -m benchmarks.reliability --times 5 -k kill       # some of them
    python -m benchmarks.reliability --embedded --times 5

The scenarios are the tests in tests/faults; each compares the output with an offline fold of the input. It prints a row
for every reported run, including failed ones: then `lost` or `doubled` is not 0.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the scenarios one after another, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50, help="how often each fault strikes (default: 50)")
    parser.add_argument("--embedded", action="store_true", help="on the embedded broker instead of Apache Kafka")
    parser.add_argument("-k", default="", help="only the tests that match, as in pytest")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reliability-") as folder:
        report = Path(folder, "report.jsonl")
        environment = os.environ | {
            "SAGER_TEST_BROKER": "embedded" if args.embedded else "kafka",
            "SAGER_TEST_FAULTS": "full",
            "SAGER_TEST_TIMES": str(args.times),
            "SAGER_TEST_REPORT": str(report),
        }
        command = [sys.executable, "-m", "pytest", "-o", "timeout=7200", "tests/faults", "-k", args.k]
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        runs = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    print(table(runs))
    return code


def table(runs: list[dict[str, Any]]) -> str:
    """The Markdown table, with one row per run."""
    rows = [
        "| scenario | broker | struck | events in | lost | silent | doubled | s to the next diff, median (most) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        seconds = run["recovery_seconds"]
        waits = f"{statistics.median(seconds):.1f} ({max(seconds):.1f})" if seconds else ""
        rows.append(
            f"| {run['scenario']} | {run['broker']} | {run['times']} | {run['events']:,} | {run['lost']} "
            f"| {run['silent']} | {run['doubled']} | {waits} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
