"""What it costs when a worker joins, leaves, or dies: the longest time that a partition makes no progress.

Choices come at a steady pace, below what the workers can do, to all partitions. Diffs tell where there is progress. A
gap is the time between two diffs of one partition that follow each other, by the timestamps of their records.
"""

import argparse
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from benchmarks.choices import Choice, choices
from benchmarks.scaleout.steady import PARTITIONS
from benchmarks.scaleout.workers import SECRET, Worker, check, end, start, wait_until_ready
from benchmarks.surroundings import deployment, endpoint, reached_as
from sager_client import EventProducer
from schemas import SkillDiff, decode
from streams.kafka import topics
from streams.kafka.clients import client_config, no_group
from streams.settings import Settings

USERS = 600
AROUND_SECONDS = 25.0
"""For so long after something happened gaps are looked for."""
QUIET_SECONDS = 10.0
"""For so long before anything happens."""
DRAIN_SECONDS = 120.0
MOVED_SECONDS = 3.0
"""A partition that stood still for so long is counted as one that moved: at this pace the others never do."""


class Progress:
    """When each partition had a diff, and which versions of whom came.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._consumer = Consumer(client_config(settings, **no_group("scaleout")))
        name = settings.topic(SkillDiff.TOPIC)
        parts = range(settings.partitions)
        self._consumer.assign([TopicPartition(name, number, OFFSET_BEGINNING) for number in parts])
        self.times: dict[int, list[float]] = {number: [] for number in parts}
        self._versions: dict[str, list[int]] = defaultdict(list)
        self.diffs = 0

    def poll(self) -> None:
        """Takes what is there."""
        for message in self._consumer.consume(2_000, 0.1):
            if message.error() is None and message.value() is not None:
                diff = decode(SkillDiff, message.value() or b"")
                self.times[message.partition() or 0].append(message.timestamp()[1] / 1_000)
                self._versions[diff.user_id].append(diff.version)
                self.diffs += 1

    def watch(self, seconds: float, also: Callable[[], None] = lambda: None) -> None:
        """Takes for so long what comes."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.poll()
            also()

    def gaps(self, begin: float, until: float) -> list[float]:
        """The longest gap of each partition that has a part in this time; seconds since 1970."""
        found = []
        for times in self.times.values():
            at = sorted(times)
            found.append(max((b - a for a, b in pairwise(at) if b > begin and a < until), default=until - begin))
        return found

    @property
    def is_each_version_once(self) -> bool:
        """Whether everybody's versions are 1, 2, 3 and so on: no state was left behind, and nothing was done twice."""
        return all(versions == list(range(1, len(versions) + 1)) for versions in self._versions.values())

    def close(self) -> None:
        """Ends taking."""
        self._consumer.close()


@contextmanager
def load(settings: Settings, per_second: float, sent: list[Choice]) -> Iterator[None]:
    """Sends choices at this pace, in a thread, and appends them to `sent`."""
    stop = threading.Event()

    def run() -> None:
        with EventProducer(connection=reached_as(settings)) as events:
            due = time.monotonic()
            for choice in choices(10_000_000, USERS):
                if stop.is_set():
                    return
                events.send(choice.ranking)
                events.send(choice.selection)
                sent.append(choice)
                due += 1 / per_second
                time.sleep(max(0.0, due - time.monotonic()))

    thread = threading.Thread(target=run, name="load", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


def measured(args: argparse.Namespace) -> dict[str, Any]:
    """The longest gaps when of two workers a third one joins, one leaves by SIGTERM, and one is killed."""
    with tempfile.TemporaryDirectory(prefix="sager-rebalance-") as held, ExitStack() as stack:
        url = stack.enter_context(endpoint(args.delay, args.spread))
        told = {"reasoner": "llm", "llm_base_url": url, "in_flight": args.in_flight, "partitions": PARTITIONS}
        told |= {"pseudonym_key": SECRET, "store": args.store, "standby_replicas": args.standbys}
        told |= {"propagate": args.graph == "on", "rebalance_seconds": 20}
        settings = stack.enter_context(deployment(args, Path(held), **told))
        topics.ensure(settings)
        workers = [start(settings, number) for number in range(2)]
        stack.callback(_end_all, workers)
        wait_until_ready(workers)
        progress, sent = Progress(settings), list[Choice]()
        stack.callback(progress.close)
        rows: dict[str, dict[str, float]] = {}
        with load(settings, args.per_second, sent):
            progress.watch(QUIET_SECONDS)
            began = time.time()
            progress.watch(QUIET_SECONDS, lambda: check(workers))
            rows["nothing"] = _row(progress.gaps(began, time.time()))
            rows["one joins"] = _around(progress, lambda: _join(settings, workers, progress))
            rows["one leaves by SIGTERM"] = _around(progress, lambda: _leave(workers, progress))
            rows["one is killed"] = _around(progress, lambda: _kill(workers))
        give_up = time.monotonic() + DRAIN_SECONDS
        while progress.diffs < len(sent) and time.monotonic() < give_up:
            progress.poll()
    return {
        "benchmark": "rebalance",
        "choices_per_second": args.per_second,
        "in_flight_each": args.in_flight,
        "delay": args.delay,
        "spread": args.spread,
        "store": args.store,
        "standbys": args.standbys,
        "session_seconds": settings.session_seconds,
        "choices": len(sent),
        "diffs": progress.diffs,
        "each_version_once": progress.is_each_version_once,
        "when": rows,
    }


def _around(progress: Progress, happens: Callable[[], None]) -> dict[str, float]:
    progress.watch(QUIET_SECONDS)
    began = time.time()
    happens()
    progress.watch(AROUND_SECONDS)
    return _row(progress.gaps(began, time.time()))


def _row(gaps: list[float]) -> dict[str, float]:
    return {"longest_gap_seconds": round(max(gaps), 1), "partitions_moved": sum(gap > MOVED_SECONDS for gap in gaps)}


def _join(settings: Settings, workers: list[Worker], progress: Progress) -> None:
    workers.append(start(settings, len(workers)))
    while not workers[-1].is_ready:
        progress.poll()
        check(workers)


def _leave(workers: list[Worker], progress: Progress) -> None:
    leaving = workers.pop(0)
    leaving.process.terminate()
    while leaving.process.poll() is None:
        progress.poll()


def _end_all(workers: list[Worker]) -> None:
    for each in workers:
        end(each)


def _kill(workers: list[Worker]) -> None:
    killed = workers.pop(0)
    killed.process.kill()
    killed.process.wait()
