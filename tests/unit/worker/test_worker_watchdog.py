"""The watchdog's verdict: a worker that stands still ends, and how busy its machine is plays no part."""

import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from streams.kafka import consumer_group
from streams.settings import Settings
from streams.worker.runtime import watchdog
from streams.worker.runtime.watchdog import StallDetector, recovery_state
from tests.fake_log import FakeDeployment, settings_in

MINUTES = 120.0
LOOK = 10.0


def seconds_until_over(beats_per_second: float) -> float:
    patience = StallDetector(MINUTES, LOOK)
    now = 0.0
    while not patience.has_expired("the same", now, int(now * beats_per_second)):
        now += LOOK
    return now


@pytest.mark.parametrize("slower", [4, 20])
def test_an_event_loop_that_turns_slower_has_longer(slower: int) -> None:
    assert seconds_until_over(beats_per_second=1 / slower) >= 0.9 * slower * MINUTES


def test_an_event_loop_that_does_not_turn_at_all_is_stuck_in_a_handler() -> None:
    assert seconds_until_over(beats_per_second=0) == MINUTES


def test_a_process_that_was_not_scheduled_has_had_no_chance() -> None:
    """It stands still for ten minutes, and looks once: a frozen machine, a laptop that slept."""
    patience = StallDetector(MINUTES, LOOK)
    patience.has_expired("the same", 0, 0)

    assert not patience.has_expired("the same", 600, 1)
    assert not patience.has_expired("the same", 1_200, 1), "nor has its event loop"


class World:
    """A broker's answer about lag, and a worker that does nothing about it unless a test says so."""

    def __init__(self, settings: Settings, patch: pytest.MonkeyPatch) -> None:
        self.now = self.progressed = 0.0
        self.waiting, self.offset, self.standing, self.is_away = 1, 0, 1, False
        self.where = (settings.topic("forget-requests"), 1)
        self.assigned = {self.where}
        patch.setattr(watchdog, "lag", self.lag)
        clock = SimpleNamespace(monotonic=lambda: self.now, time=time.time)
        patch.setattr("streams.worker.runtime.watchdog.time", clock)
        more = settings.model_copy(update={"watchdog_seconds": MINUTES})
        self.dog = watchdog.Watchdog(
            more,
            lambda: self.progressed,
            lambda: self.assigned,
            lambda _: None,
            state=lambda: self.standing,
            beats=lambda: int(self.now),
        )

    def lag(self, *_: object) -> dict[TopicPartition, int]:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
        return {TopicPartition(*self.where, self.offset): self.waiting}

    def is_stuck_within(self, seconds: float) -> bool:
        end = self.now + seconds
        while self.now <= end:
            if self.dog.is_stuck():
                return True
            self.now += LOOK
        return False


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(settings_in(tmp_path), monkeypatch)


def test_an_erasure_request_without_progress_ends_the_worker(world: World) -> None:
    """A dead fetcher: the event loop turns, and nothing comes."""
    assert world.is_stuck_within(MINUTES)


def test_the_first_record_after_hours_of_rest_does_not_end_a_worker(world: World) -> None:
    world.waiting = 0
    assert not world.is_stuck_within(100 * MINUTES)
    world.waiting = 1

    assert not world.is_stuck_within(0.8 * MINUTES)


@pytest.mark.parametrize("what", ["progressed", "offset"])
def test_a_worker_that_finishes_or_commits_something_is_not_stuck(world: World, what: str) -> None:
    for at in range(10):
        setattr(world, what, at + 1)
        assert not world.is_stuck_within(0.8 * MINUTES)


def test_a_broker_that_does_not_answer_gives_no_verdict(world: World) -> None:
    assert not world.is_stuck_within(0.8 * MINUTES)
    world.is_away = True
    assert not world.is_stuck_within(LOOK)
    world.is_away = False

    assert not world.is_stuck_within(0.8 * MINUTES)


async def test_recovery_state_changes_with_partitions_and_recovery(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    app = worker.parts.app
    app.tables.recovery.active_offsets.clear()
    seen = [recovery_state(app)]
    assert recovery_state(app) == seen[0]

    worker.assign()
    seen.append(recovery_state(app))
    app.tables.recovery.active_offsets["t.skills", 0] = 17
    seen.append(recovery_state(app))
    app.rebalancing = True
    seen.append(recovery_state(app))
    worker.revoke()
    seen.append(recovery_state(app))

    assert len(set(seen)) == len(seen)


def test_records_that_kafka_has_deleted_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that begins, or was away for longer than a topic keeps its records, has nothing to read there."""
    marks = {OffsetSpec.latest(): 900, OffsetSpec.earliest(): 900}

    def list_offsets(asked: dict[TopicPartition, OffsetSpec], **_: float) -> dict[TopicPartition, Future[Any]]:
        answers: dict[TopicPartition, Future[Any]] = {tp: Future() for tp in asked}
        for tp, spec in asked.items():
            answers[tp].set_result(SimpleNamespace(offset=marks[spec]))
        return answers

    settings, client = settings_in(tmp_path), SimpleNamespace(list_offsets=list_offsets)
    monkeypatch.setattr(consumer_group, "committed", lambda *_: {})

    assert set(consumer_group.lag(settings, client, ["rankings"]).values()) == {0}
    marks[OffsetSpec.earliest()] = 880
    assert set(consumer_group.lag(settings, client, ["rankings"]).values()) == {20}
