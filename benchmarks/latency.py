"""Measures the time from choices to slim skills, at a steady pace."""

import threading
import time
from collections.abc import Callable
from typing import Any

import orjson
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from benchmarks.running import choices
from benchmarks.surroundings import reached_as
from operators.admission import contrast_id
from sager_client import EventProducer
from schemas import SkillDiff, SlimSkill
from streams.kafka.clients import client_config, no_group
from streams.settings import Settings

# From a ranking to its selection.
LOOKS_SECONDS = 1.0
WAIT_SECONDS = 30.0
# The embedded broker answers a fetch when its wait is over; this much of the figure is the reader's own.
FETCH_MS = 5


class Arrivals:
    """Records arrivals of diffs and slim skills, in its own thread."""

    def __init__(self, settings: Settings) -> None:
        self.at: dict[str, dict[str, float]] = {SkillDiff.TOPIC: {}, SlimSkill.TOPIC: {}}
        self._bases = {settings.topic(base): base for base in self.at}
        config = client_config(settings, **no_group("latency"), **{"fetch.wait.max.ms": FETCH_MS})
        self._consumer = Consumer(config)
        self._consumer.assign(
            [
                TopicPartition(name, partition, OFFSET_END)
                for name in self._bases
                for partition in range(settings.partitions)
            ]
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._is_over.is_set():
            first = self._consumer.poll(0.2)
            messages = [] if first is None else [first, *self._consumer.consume(500, 0)]
            now = time.monotonic()
            for message in messages:
                if message.error() is None and message.value():
                    event_id = orjson.loads(message.value() or b"")["event_id"]
                    self.at[self._bases[message.topic() or ""]].setdefault(event_id, now)

    def close(self) -> None:
        """End reading."""
        self._is_over.set()
        self._thread.join()
        self._consumer.close()


def _share(values: list[float], share: float) -> float | None:
    return round(sorted(values)[min(len(values) - 1, int(share * len(values)))], 1) if values else None


def measured(settings: Settings, rate: float, seconds: float, users: int, check: Callable[[], None]) -> dict[str, Any]:
    """Send choices at a rate, and time slim skills and diffs.

    A selection comes a second after its ranking; only choices that change a slim skill are timed by it. `check` raises
    if the worker has ended. Raises TimeoutError if a diff does not come.
    """
    arrivals, sent = Arrivals(settings), dict[str, float]()
    chosen = list(choices(max(1, int(rate * seconds)), users, "paced", seed=2))
    shows = [(number / rate, choice.ranking, "") for number, choice in enumerate(chosen)]
    takes = [
        (
            number / rate + LOOKS_SECONDS,
            choice.selection,
            contrast_id(choice.ranking.user_id, choice.ranking.ranking_id),
        )
        for number, choice in enumerate(chosen)
    ]
    try:
        with EventProducer(connection=reached_as(settings)) as events:
            time.sleep(LOOKS_SECONDS)  # for the reader to find its place
            began = time.monotonic()
            for due, event, follows in sorted([*shows, *takes], key=lambda each: each[0]):
                time.sleep(max(0.0, began + due - time.monotonic()))
                if follows:
                    sent[follows] = time.monotonic()
                events.send(event)
            give_up = time.monotonic() + WAIT_SECONDS
            while not sent.keys() <= arrivals.at[SkillDiff.TOPIC].keys():
                check()
                if time.monotonic() > give_up:
                    missing = len(sent.keys() - arrivals.at[SkillDiff.TOPIC].keys())
                    raise TimeoutError(f"{missing} of {len(sent)} choices have no diff")
                time.sleep(0.1)
            time.sleep(LOOKS_SECONDS)  # a slim skill may come after its diff
    finally:
        arrivals.close()
    slims, diffs = arrivals.at[SlimSkill.TOPIC], arrivals.at[SkillDiff.TOPIC]
    slim_ms = [1_000 * (slims[each] - at) for each, at in sent.items() if each in slims]
    diff_ms = [1_000 * (diffs[each] - at) for each, at in sent.items()]
    return {
        "p50_ms": _share(slim_ms, 0.5),
        "p99_ms": _share(slim_ms, 0.99),
        "slim_skills_timed": len(slim_ms),
        "diff_p50_ms": _share(diff_ms, 0.5),
        "diff_p99_ms": _share(diff_ms, 0.99),
    }
