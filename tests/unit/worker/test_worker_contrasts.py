"""The join of rankings and selections, where one topic is far ahead of the other."""

import pytest
from faust.types import TP

from operators.contrast import SLOTS, RingLimits
from schemas import Contrast, Ranking, Selection
from streams.kafka.clients import partition_of
from streams.worker.runtime.executor import DEFAULT_IN_FLIGHT
from tests.fake_log import PREFIX, FakeDeployment
from tests.unit.worker.test_worker_exactly_once import choice

ENOUGH = SLOTS * max(RingLimits.rankings, RingLimits.waiting) + DEFAULT_IN_FLIGHT + 50
"""Choices of one user: more than their rings and one executor hold."""


async def test_partitions_that_are_ahead_in_different_topics_catch_up(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restarts under a backlog lead to this. Held rankings of one partition blocked those of the other."""
    monkeypatch.setattr("streams.worker.agents.contrast.CATCH_UP_SECONDS", 3_600.0)
    users = [next(name for name in map(str, range(100)) if partition_of(name, 2) == number) for number in (0, 1)]
    made = [choice(number, users[number % 2]) for number in range(2 * ENOUGH)]
    for ranking, selection in made:
        deployment.log.put_all((ranking, selection))
    late = {TP(PREFIX + Selection.TOPIC, 0), TP(PREFIX + Ranking.TOPIC, 1)}
    worker = deployment.worker()
    worker.full |= late
    await worker.settle(5_000)

    worker.full -= late
    deployment.log.wake()
    await worker.quiet()

    assert len(deployment.log.values(Contrast)) == len(made)
    assert deployment.log.of("dead-letters") == []
