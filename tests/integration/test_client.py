"""The app's client against a real broker: restarts under it, answers to rank requests, asyncio, foreign packages."""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from benchmarks.surroundings import reached_as
from sager_client import (
    AsyncEventProducer,
    AsyncSlimSkills,
    EventProducer,
    NoAnswer,
    NotDelivered,
    SlimSkill,
    SlimSkills,
    Undelivered,
)
from schemas import Interaction, Ranking, compound_key
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings
from tests.harness import Harness
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SECONDS = 60.0


def put(settings: Settings, user: str, version: int, text: str | None = "likes: noir") -> None:
    """A slim skill, as the worker writes it; without a text its tombstone."""
    value = None
    if text is not None:
        skill = {
            "event_id": uuid.uuid4().hex,
            "occurred_at": datetime.now(UTC),
            "user_id": user,
            "domain": "films",
            "skill_version": version,
            "text": text,
            "tokens": 3,
        }
        value = SlimSkill.model_validate(skill).model_dump_json().encode()
    producer = Producer(producer_config(settings))
    key, partition = compound_key(user, "films"), partition_of(user, settings.partitions)
    producer.produce(settings.topic("slim-skills"), value, key, partition)
    assert producer.flush(SECONDS) == 0


def until(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    give_up = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < give_up, f"waited for {SECONDS:.0f} s"
        time.sleep(0.05)


def cause(events: EventProducer) -> str:
    """Why events are not delivered."""
    with pytest.raises(NotDelivered) as told:
        events.flush(0.2)
    return told.value.cause


def crash(broker: EmbeddedBroker) -> None:
    """End it without a good-bye, and with all that it held."""
    assert broker._process is not None
    broker._process.kill()
    broker.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[EmbeddedBroker, Settings]]:
    """A broker that a test may restart, with the topics of a deployment."""
    with EmbeddedBroker(tmp_path / "broker.log") as broker:
        settings = Settings(bootstrap=broker.bootstrap, embedded=True, data_dir=tmp_path)
        topics.ensure(settings)
        yield broker, settings


# --- a broker that is restarted


def test_a_producer_goes_on_after_the_broker_was_restarted_and_has_forgotten_all(
    own: tuple[EmbeddedBroker, Settings],
) -> None:
    broker, settings = own
    with EventProducer(broker.bootstrap) as events:
        events.interaction("ann", "films", slate(0)[0], event_id="before")
        events.flush(SECONDS)
        crash(broker)
        for number in range(50):
            events.interaction("ann", "films", slate(0)[0], event_id=f"while-{number}")
        until(lambda: cause(events) == f"broker unreachable at {broker.bootstrap}: connection refused")
        broker.start()
        until(lambda: cause(events).startswith(f"there is no topic sager.interactions at {broker.bootstrap}"))
        topics.ensure(settings)
        events.interaction("ann", "films", slate(0)[0], event_id="after")
        events.flush(SECONDS)

    with Harness(settings) as harness:
        outputs = harness.count(Interaction, 51)
    arrived = list(dict.fromkeys(event.event_id for event in outputs.values(Interaction)))
    assert arrived == [*(f"while-{number}" for number in range(50)), "after"]
    partitions = {message.partition() for message in outputs.records["interactions"]}
    assert partitions == {partition_of("ann", settings.partitions)}


def test_slim_skills_follow_a_broker_that_was_restarted_and_has_forgotten_all(
    own: tuple[EmbeddedBroker, Settings],
) -> None:
    broker, settings = own
    for user in ("ann", "bob"):
        put(settings, user, 5)
    removed: list[str] = []
    with SlimSkills(broker.bootstrap, on_removed=lambda skill: removed.append(skill.user_id)) as skills:
        assert len(skills) == 2
        crash(broker)
        broker.start()
        topics.ensure(settings)
        put(settings, "ann", 1, "likes: westerns")
        until(lambda: skills.get("ann", "films") == "likes: westerns")
        until(lambda: removed == ["bob"])
        put(settings, "cem", 1)
        until(lambda: len(skills) == 2)


# --- what the broker has


def test_a_record_that_the_broker_refuses_is_told_and_the_others_go_on(settings: Settings) -> None:
    topics.ensure(settings)
    told: list[Undelivered] = []
    large = [{"item_id": f"i{n}", "metadata": {f"k{m}": "\N{DOG}" * 500 for m in range(60)}} for n in range(100)]
    with EventProducer(connection=reached_as(settings), on_error=told.append) as events:
        events.interaction("ann", "films", slate(1)[0])
        refused = events.ranking("ann", "films", large)
        events.ranking("ann", "films", slate(1))
        with pytest.raises(NotDelivered, match=r"1 event given up: rankings: .*size too large"):
            events.flush(SECONDS)

    assert [each.event for each in told] == [refused]
    assert len(refused.model_dump_json().encode()) > 4 * 1024 * 1024
    with Harness(settings) as harness:
        assert len(harness.count(Ranking, 1).values(Ranking)) == 1


# --- the pipeline answers


async def test_an_app_ranks_chooses_and_forgets(harness: Harness) -> None:
    """With asyncio and without, from the first request to the slim skill and its end."""
    harness.worker()
    connection = reached_as(harness.settings)
    changed, removed = asyncio.Queue[SlimSkill](), asyncio.Queue[SlimSkill]()

    def on_change(skill: SlimSkill) -> None:
        changed.put_nowait(skill)
        raise RuntimeError("an app's mistake")

    async with (
        AsyncSlimSkills(connection=connection, on_change=on_change, on_removed=removed.put_nowait) as skills,
        AsyncEventProducer(connection=connection) as events,
    ):
        first = await events.rank("ann", "films", slate(1), "something calm", seconds=SECONDS)
        again = await asyncio.gather(*(events.rank("ann", "films", slate(n), seconds=SECONDS) for n in range(5)))
        assert {item.item_id for item in first.candidates} == {item["item_id"] for item in slate(1)}
        for number, ranking in enumerate(again):
            assert {item.item_id for item in ranking.candidates} == {item["item_id"] for item in slate(number)}
        answer = await events.correct_and_wait("ann", "films", "no horror, please", seconds=SECONDS)
        assert (answer.understood, [each.value for each in answer.statements]) == (True, ["horror"])
        for _ in range(4):
            ranking = await events.ranking("ann", "films", slate(2))
            await events.selection(user_id="ann", ranking_id=ranking.ranking_id, item_id=slate(2)[3]["item_id"])
        while not skills.get("ann", "films"):
            await asyncio.wait_for(changed.get(), SECONDS)
        await events.forget("ann", actor="settings page")
        gone = await asyncio.wait_for(removed.get(), SECONDS)
        assert (gone.user_id, skills.get("ann", "films")) == ("ann", "")

    with EventProducer(connection=connection) as blocking:
        ranking = blocking.rank("bob", "films", slate(3), seconds=SECONDS)
        blocking.selection(ranking, slate(3)[0]["item_id"])
        (worker,) = harness.processes
        harness.stop(worker)
        with pytest.raises(NoAnswer, match="not answered within 1 s: is a `sager worker` running"):
            blocking.rank("bob", "films", slate(3), seconds=1)
    harness.quiet()
    assert harness.outputs.dead_letters == []


def test_a_follower_survives_its_callbacks(settings: Settings) -> None:
    topics.ensure(settings)
    put(settings, "ann", 1)
    seen: list[str] = []

    def fail(skill: SlimSkill) -> None:
        seen.append(skill.user_id)
        raise RuntimeError("an app's mistake")

    with SlimSkills(connection=reached_as(settings), on_change=fail, on_removed=fail) as skills:
        put(settings, "bob", 1)
        put(settings, "ann", 2, None)
        put(settings, "cem", 1)
        until(lambda: len(seen) == 4)
        assert sorted(seen) == ["ann", "ann", "bob", "cem"]
        assert (skills.get("ann", "films"), len(skills)) == ("", 2)


# --- an app of its own
