"""Measures how long after a person's words the first ranking goes by them.

    python -m benchmarks.honoured [--users 50] [--kafka] [--json]

Each user says what they do not want, and asks for one ranking after the other until one names their statement in
`fit.honoured`; what they do not want then stands last. Corrections and rank requests are on different topics: a ranking
that was asked for at once may be made before the correction is heard.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import end_in_order
from benchmarks.running import Running
from benchmarks.surroundings import add_broker_arguments, deployment, reached_as
from sager_client import EventProducer

DOMAIN = "films"
GENRES = ("horror", "comedy", "western", "musical", "thriller")
SHOWN = [{"item_id": genre, "title": genre.title(), "metadata": {"genre": genre}} for genre in GENRES]
WORDS = "I don't want horror"
PATIENCE_SECONDS = 30.0


def honoured_after(events: EventProducer, user_id: str) -> tuple[float, int]:
    """Seconds from a person's words to the first ranking that goes by them, and how many did not.

    Raises:
        TimeoutError: none did.
    """
    began, asked = time.monotonic(), 0
    events.correct(user_id, DOMAIN, WORDS, items=SHOWN)
    while time.monotonic() - began < PATIENCE_SECONDS:
        ranking = events.rank(user_id, DOMAIN, SHOWN)
        fit = ranking.injected.fit
        if fit is not None and fit.honoured:
            if ranking.candidates[-1].item_id != GENRES[0]:
                raise AssertionError(f"{user_id} said '{WORDS}', and it is not last")
            return time.monotonic() - began, asked
        asked += 1
    raise TimeoutError(f"no ranking went by what {user_id} said")


def main() -> None:
    """Start a worker, let users speak one after the other, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=50, help="how many users speak")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_broker_arguments(parser)
    args = parser.parse_args()
    end_in_order()
    with (
        tempfile.TemporaryDirectory(prefix="sager-honoured-") as folder,
        deployment(args, Path(folder)) as settings,
        Running(settings),
        EventProducer(connection=reached_as(settings)) as events,
    ):
        events.rank("nobody", DOMAIN, SHOWN, seconds=120)  # the worker is up from now on
        found = []
        for number in range(args.users):
            found.append(honoured_after(events, f"user-{number}"))
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {args.users}", end="", file=sys.stderr)
    seconds = sorted(took for took, _ in found)
    figures = {
        "users": args.users,
        "p50_ms": round(1e3 * statistics.median(seconds)),
        "worst_ms": round(1e3 * seconds[-1]),
        "within_one_second": sum(took <= 1.0 for took in seconds) / len(seconds),
        "rankings_before": sum(asked for _, asked in found),
    }
    print(json.dumps(figures) if args.json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
