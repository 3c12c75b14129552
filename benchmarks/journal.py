"""Measures what the journal of `sager up` costs: the same choices through a local pipeline with it and without.

    python -m benchmarks.journal [--choices 600] [--users 60] [--times 2] [--json]

All choices are sent at once; CPU is that of broker, worker, materializer and journal until the last is learned. Then
single choices are sent, a pause before each, and the time until each is learned is taken. The two kinds take turns.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.idle import TICKS, ticks
from benchmarks.surroundings import reached_as
from sager_client import EventProducer
from sager_client.follower import Follower
from schemas import SkillDiff
from streams.demo import catalogue
from streams.local.launch import Local
from streams.settings import Settings

PAUSE_SECONDS, PAUSES = 2.0, 9
SETTLE_SECONDS, LIMIT_SECONDS = 2.0, 300.0


class Learned:
    """Counts the versions that are logged, and says when."""

    def __init__(self, settings: Settings) -> None:
        self._count, self._at, self._came = 0, 0.0, threading.Condition()
        self._follower = Follower(reached_as(settings), SkillDiff.TOPIC, self._take, from_end=True)
        self._follower.start()
        self._follower.wait(30)

    def _take(self, key: bytes, value: bytes | None) -> None:
        with self._came:
            self._count, self._at = self._count + 1, time.monotonic()
            self._came.notify_all()

    def wait(self, count: int) -> float:
        """When there were so many, by the monotonic clock."""
        with self._came:
            if not self._came.wait_for(lambda: self._count >= count, LIMIT_SECONDS):
                raise SystemExit(f"{self._count} of {count} choices were learned within {LIMIT_SECONDS:g} s")
            return self._at

    def close(self) -> None:
        """End."""
        self._follower.close()


def spent() -> dict[int, tuple[str, int]]:
    """Ticks of our children."""
    own = ticks(os.getpid())
    del own[os.getpid()]
    return own


def measured(folder: Path, choices: int, users: int, *, keep: bool) -> dict[str, float]:
    """One run."""
    films, rng = catalogue.load()["films"], random.Random(1)
    found: dict[str, float] = {}
    with Local(Settings(data_dir=folder), keep=keep) as local:
        local.wait_until_ready()
        learned = Learned(local.settings)
        with EventProducer(connection=reached_as(local.settings)) as events:

            def choose(number: int) -> None:
                shown = rng.sample(films, 10)
                ranking = events.ranking(f"user-{number % users}", "films", shown)
                events.selection(ranking, shown[rng.randrange(10)].item_id)

            choose(0)
            learned.wait(1)
            time.sleep(SETTLE_SECONDS)
            before, began = spent(), time.monotonic()
            for number in range(choices):
                choose(number)
            seconds = learned.wait(1 + choices) - began
            after = spent()
            latencies = []
            for number in range(PAUSES):
                time.sleep(PAUSE_SECONDS)
                sent = time.monotonic()
                choose(number)
                events.flush()
                latencies.append(learned.wait(choices + 2 + number) - sent)
        learned.close()
    for pid, (name, count) in after.items():
        found[f"cpu_s_{name}"] = found.get(f"cpu_s_{name}", 0.0) + (count - before.get(pid, (name, 0))[1]) / TICKS
    return {
        **found,
        "cpu_s": sum(found.values()),
        "choices_per_s": choices / seconds,
        "after_a_pause_s": statistics.median(latencies),
    }


def main() -> None:
    """Measure with and without, in turns, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choices", type=int, default=600)
    parser.add_argument("--users", type=int, default=60)
    parser.add_argument("--times", type=int, default=2, help="how often each kind is run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    runs: dict[str, dict[str, list[float]]] = {"without": defaultdict(list), "with": defaultdict(list)}
    for _ in range(args.times):
        for kind, values in runs.items():
            with tempfile.TemporaryDirectory(prefix="sager-journal-") as folder:
                run = measured(Path(folder) / "data", args.choices, args.users, keep=kind == "with")
            for name, value in run.items():
                values[name].append(value)
    found = {
        kind: {name: round(statistics.median(each), 3) for name, each in values.items()}
        for kind, values in runs.items()
    }
    if args.json:
        print(json.dumps(found))
        return
    for kind, medians in found.items():
        print(f"{kind} a journal: " + ", ".join(f"{name} {value:g}" for name, value in medians.items()))


if __name__ == "__main__":
    main()
