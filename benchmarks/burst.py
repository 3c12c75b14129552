"""Measures back-pressure: with a burst of events and a slow LLM, memory stays bounded, lag falls, nothing is dropped.

    python -m benchmarks.burst [--events 200000] [--delay 0.1] [--in-flight 64] [--users 2000] [--minutes 60] [--kafka]

Half of the events are rankings, half are selections, produced at full speed while the worker and the materializer run.
The endpoint is `tests/openai_server.py`, in a process of its own. It prints progress every few seconds. The verdict is
the last line, as JSON, and the exit code: 1 if something was lost or duplicated, or memory grew without bound. After
`--minutes` it reports how far it got, which is not a failure.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from benchmarks.surroundings import add_broker_arguments, deployment, endpoint, reached_as, rss_mib, scraped
from sager_client import EventProducer
from schemas import SkillDiff, decode
from streams.demo import catalogue
from streams.kafka import topics
from streams.kafka.clients import client_config
from streams.local.broker import free_port
from streams.local.launch import child
from streams.settings import Settings
from streams.worker.runtime.watchdog import lag

GRAPH = ("item-touches",)
"""The topic that choices lead to in the user-item graph, after their diffs."""
WIDTH = 17
PLATEAU = 1.25
"""Memory counts as bounded if its peak in the second half of the time is at most this many times that of the first."""


class Burst(threading.Thread):
    """Produces rankings and their selections at full speed."""

    def __init__(self, settings: Settings, contrasts: int, users: int) -> None:
        super().__init__(name="burst", daemon=True)
        self.produced, self.seconds = 0, 0.0
        self._settings, self._contrasts, self._users = settings, contrasts, users

    def run(self) -> None:
        """Produces all of them; `produced` counts the selections sent."""
        films, rng, began = catalogue.load()["films"], random.Random(1), time.monotonic()
        with EventProducer(connection=reached_as(self._settings)) as events:
            for number in range(self._contrasts):
                shown = rng.sample(films, 10)
                ranking = events.ranking(f"user-{number % self._users}", "films", shown)
                events.selection(ranking, shown[rng.randrange(10)].item_id)
                self.produced = number + 1
        self.seconds = time.monotonic() - began


class Diffs(threading.Thread):
    """Reads the log: which contrasts have a diff, and whether each user's versions rise by one."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(name="diffs", daemon=True)
        self.records, self.out_of_order = 0, 0
        self.answered: set[str] = set()
        self._versions: Counter[tuple[str, str]] = Counter()
        self._consumer = Consumer(client_config(settings, **{"group.id": "burst", "enable.auto.commit": False}))
        name = settings.topic(SkillDiff.TOPIC)
        self._consumer.assign([TopicPartition(name, p, OFFSET_BEGINNING) for p in range(settings.partitions)])

    def run(self) -> None:
        """Reads for as long as the benchmark runs."""
        while True:
            for message in self._consumer.consume(500, 0.5):
                if message.error() is None:
                    self._count(decode(SkillDiff, message.value() or b""))

    def _count(self, diff: SkillDiff) -> None:
        self.records += 1
        self.answered.add(diff.event_id)
        self._versions[diff.user_id, diff.domain] += 1
        self.out_of_order += diff.version != self._versions[diff.user_id, diff.domain]


@dataclass
class Samples:
    """The samples, taken every few seconds."""

    worker_mib: list[float] = field(default_factory=list)
    materializer_mib: list[float] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    in_flight: list[int] = field(default_factory=list)


def run(settings: Settings, args: argparse.Namespace) -> dict[str, object]:
    """Runs the burst until everything is processed or time is up; returns the verdict."""
    topics.ensure(settings)
    port = free_port()
    own = Settings(**{**settings.model_dump(exclude_unset=True), "metrics_port": port})
    worker = child(["worker"], own, settings.data_dir / "worker.log")
    materializer = child(["materialize"], settings, settings.data_dir / "materialize.log")
    contrasts, began = args.events // 2, time.monotonic()
    burst, diffs, samples, admin = Burst(settings, contrasts, args.users), Diffs(settings), Samples(), topics.admin(own)
    _wait_until_up(port, worker)
    burst.start()
    diffs.start()
    columns = ("s", "produced", "diffs", "lag", "graph lag", "in flight", "worker MiB", "materializer MiB")
    print("".join(f"{column:>{WIDTH}}" for column in columns))
    waiting = 1
    while time.monotonic() - began < 60 * args.minutes and (len(diffs.answered) < contrasts or waiting):
        time.sleep(args.every)
        for name, process in (("worker", worker), ("materializer", materializer)):
            if process.poll() is not None:
                raise SystemExit(f"the {name} has ended with {process.returncode}; see {settings.data_dir}")
        try:
            behind = lag(own, admin)
            waiting = sum(behind.values())
            graph = sum(n for tp, n in behind.items() if tp.topic.removeprefix(own.prefix) in GRAPH)
            told = scraped(port)
        except (KafkaException, OSError) as error:  # on a busy machine a response may be late
            print(f"no sample: {error}", file=sys.stderr)
            continue
        samples.lags.append(waiting)
        samples.in_flight.append(int(told.get("sager_in_flight evolve", 0)))
        samples.worker_mib.append(rss_mib(worker.pid))
        samples.materializer_mib.append(rss_mib(materializer.pid))
        memory = (round(samples.worker_mib[-1]), round(samples.materializer_mib[-1]))
        row = (burst.produced, len(diffs.answered), waiting - graph, graph, samples.in_flight[-1], *memory)
        print("".join(f"{value:>{WIDTH},}" for value in (round(time.monotonic() - began), *row)), flush=True)
    seconds = time.monotonic() - began
    time.sleep(2)
    codes = []
    for process in (worker, materializer):
        process.terminate()
        codes.append(process.wait(60))
    return verdict(args, burst, diffs, samples) | {"seconds": round(seconds, 1), "exit_codes": codes}


def verdict(args: argparse.Namespace, burst: Burst, diffs: Diffs, samples: Samples) -> dict[str, object]:
    """The verdict. Nothing counts as lost unless there was time for everything."""
    answered, contrasts = len(diffs.answered), args.events // 2
    growth = {name: _growth(each) for name, each in (("worker", samples.worker_mib), ("m", samples.materializer_mib))}
    complete = bool(samples.lags) and answered == contrasts and samples.lags[-1] == 0
    return {
        "events": 2 * burst.produced,
        "produced_in_seconds": round(burst.seconds, 1),
        "diffs": diffs.records,
        "complete": complete,
        "unanswered": contrasts - answered,
        "doubled": diffs.records - answered,
        "out_of_order": diffs.out_of_order,
        "in_flight_most": max(samples.in_flight, default=0),
        "lag_most": max(samples.lags, default=0),
        "lag_last": samples.lags[-1] if samples.lags else None,
        "worker_mib_most": round(max(samples.worker_mib, default=0)),
        "worker_growth": growth["worker"],
        "materializer_mib_most": round(max(samples.materializer_mib, default=0)),
        "materializer_growth": growth["m"],
        "ok": diffs.records == answered
        and not diffs.out_of_order
        and max(samples.in_flight, default=0) <= args.in_flight
        and max(growth.values()) <= PLATEAU,
    }


def _growth(mib: list[float]) -> float:
    """The ratio of the second half's peak to the first half's."""
    half = len(mib) // 2
    return round(max(mib[half:]) / max(mib[:half]), 2) if half else 1.0


def _wait_until_up(port: int, worker: "subprocess.Popen[bytes]") -> None:
    while worker.poll() is None:
        try:
            scraped(port)
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise SystemExit(f"the worker has ended with {worker.returncode}")


def main() -> None:
    """Runs the benchmark and prints the verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_broker_arguments(parser)
    parser.add_argument("--events", type=int, default=200_000, help="rankings and selections together")
    parser.add_argument("--delay", type=float, default=0.1, help="the endpoint's seconds per answer")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--minutes", type=float, default=60.0, help="longest time")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two samples")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sager-burst-"))
    with endpoint(args.delay) as url:
        llm = {"reasoner": "llm", "llm_base_url": url, "gate": False, "in_flight": args.in_flight}
        with deployment(args, folder, **llm) as settings:
            result = run(settings, args)
    print(json.dumps({"benchmark": "burst", "delay": args.delay, "in_flight": args.in_flight, **result}))
    if not result["ok"]:
        sys.exit(f"failed; logs are in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
