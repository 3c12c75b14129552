"""A clock that jumps an hour ahead, back, an hour behind, a day ahead, and back, for all processes of a machine."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest

from schemas import Correction, DeadLetter, Directive, ForgetRequest, PolicySkill, Ranking, Receipt, Selection, Stance
from schemas.topics import by_name
from streams.analytics.erasure import ErasureFilter
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import PUBLIC_TOPICS, read
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.fake_log import PREFIX, FakeDeployment, FakeLog
from tests.shared_files import empty_store
from tests.unit.worker.test_worker_exactly_once import choice

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
JUMPS = (timedelta(0), HOUR, timedelta(0), -HOUR, timedelta(0), DAY, timedelta(0))
CLOCKED = (
    "streams.worker.runtime.dispatch",
    "streams.worker.erasure",
    "streams.worker.agents.evolve",
    "streams.worker.agents.prior",
    "streams.worker.agents.propagate",
    "streams.analytics.erasure",
)
"""Modules that ask for the time of day."""


class Clock:
    """The time of day of a machine, which an operator sets."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    @property
    def stamp(self) -> int:
        return int(self.now().timestamp() * 1_000)


def set_clock(monkeypatch: pytest.MonkeyPatch, machine: Clock, modules: Sequence[str]) -> Clock:
    class Set(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return machine.now()  # type: ignore[return-value]

    for module in modules:
        monkeypatch.setattr(f"{module}.datetime", Set)
    return machine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of a machine on which everything runs."""
    return set_clock(monkeypatch, Clock(), CLOCKED)


@pytest.fixture
def own_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of a worker's machine; apps and the materializer have the right time."""
    return set_clock(monkeypatch, Clock(), [module for module in CLOCKED if module.startswith("streams.worker")])


def send(log: FakeLog, clock: Clock, events: Sequence[Ranking | Selection | Correction]) -> None:
    for event in events:
        log.put(event.model_copy(update={"occurred_at": clock.now()}), timestamp_ms=clock.stamp)


class Sink:
    def __init__(self, log: FakeLog, folder: Path) -> None:
        self._log, self._done = log, 0
        self.store = empty_store(folder / "live.duckdb", PREFIX)
        self.barrier = ErasureFilter()

    def read(self) -> None:
        names = {topic.name(PREFIX) for topic in PUBLIC_TOPICS}
        for record in self._log.order[self._done :]:
            self._done += 1
            if record.topic not in names:
                continue
            topic, batch, receipts = by_name(record.topic, PREFIX), ChangeSet(), []
            found = KafkaRecord(topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value)
            if (change := read(found, barrier=self.barrier, privacy=PRIVACY)) is not None:
                batch.add(change)
            if topic.base == Receipt.TOPIC and record.value is not None:
                receipts.append(Receipt.model_validate_json(record.value))
                self.barrier.add(receipts[-1])
            self.store.write(batch, {}, receipts)

    def count(self, table: str, user: str = "") -> int:
        whose = f"WHERE user_id = '{user}'" if user else ""
        [(number,)] = self.store._db.execute(f"SELECT count(*) FROM {table} {whose}").fetchall()
        return int(number)


@pytest.fixture
def sink(deployment: FakeDeployment, tmp_path: Path) -> Sink:
    return Sink(deployment.log, tmp_path)


@pytest.mark.parametrize("reads", ["at once", "after the next jump", "at the end"])
async def test_after_a_clock_has_jumped_every_choice_is_learned_and_has_its_rows(
    deployment: FakeDeployment, clock: Clock, sink: Sink, reads: str
) -> None:
    log, worker, number = deployment.log, deployment.worker(), 0
    for ahead in JUMPS:
        clock.ahead = ahead
        if reads == "after the next jump":
            await worker.quiet()
            sink.read()
        for user in ("ann", "ben"):
            number += 1
            send(log, clock, choice(number, user))
        if reads == "at once":
            await worker.quiet()
            sink.read()
    await worker.quiet()
    sink.read()

    assert [letter.reason for letter in log.values(DeadLetter)] == []
    assert Counter(diff.user_id for diff in log.diffs) == {"ann": len(JUMPS), "ben": len(JUMPS)}
    tables = ("rankings", "selections", "contrasts", "skill_diffs")
    assert {table: sink.count(table) for table in tables} == dict.fromkeys(tables, number)


@pytest.mark.parametrize("ahead", [HOUR, DAY, -HOUR])
async def test_a_worker_with_a_wrong_clock_forgets_by_kafkas_time(
    deployment: FakeDeployment, own_clock: Clock, sink: Sink, ahead: timedelta
) -> None:
    """Events from before the request stay forgotten, and the person is not silenced until the worker's time."""
    log, worker, right = deployment.log, deployment.worker(), Clock()
    before = choice(1, "ann")
    send(log, right, before)
    await worker.quiet()
    own_clock.ahead = ahead
    log.put(
        ForgetRequest(event_id="please", occurred_at=right.now(), user_id="ann", actor="ann"), timestamp_ms=right.stamp
    )
    await worker.quiet()
    own_clock.ahead = timedelta(0)
    sink.read()
    assert (log.newest(PolicySkill), sink.count("selections")) == ({}, 0)

    send(log, right, choice(2, "ann"))
    await worker.quiet()
    sink.read()

    [skill] = log.newest(PolicySkill).values()
    assert skill.version == 1, "events after the request are learned"
    assert (sink.count("selections"), sink.count("contrasts")) == (1, 1)

    for event in before:
        log.put(event.model_copy(update={"event_id": f"{event.event_id}-again"}), timestamp_ms=right.stamp)
    await worker.quiet()
    assert [skill.version for skill in log.newest(PolicySkill).values()] == [1], "nothing from before comes back"


async def test_a_word_or_a_session_of_a_clock_that_ran_ahead_holds_up_no_later_one(
    deployment: FakeDeployment, clock: Clock
) -> None:
    log, worker = deployment.log, deployment.worker()

    def said(number: int, stance: Stance) -> Correction:
        says = Directive(stance=stance, dimension="genre", value="horror")
        return Correction(
            event_id=f"c{number}",
            occurred_at=clock.now(),
            user_id="ann",
            domain="films",
            directives=(says,),
            session_id=f"s{number}",
        )

    clock.ahead = DAY
    send(log, clock, [said(1, Stance.AVOIDS)])
    await worker.quiet()
    clock.ahead = timedelta(0)
    send(log, clock, [said(2, Stance.PREFERS)])
    await worker.quiet()

    [skill] = log.newest(PolicySkill).values()
    assert [each.stance for each in skill.stated] == [Stance.PREFERS]
    assert "s2" in {session.session_id for session in skill.sessions}
