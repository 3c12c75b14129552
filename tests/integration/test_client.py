"""The app's client against a real broker: restarts under it, answers to rank requests, asyncio, foreign packages."""

import asyncio
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from benchmarks.surroundings import reached_as
from sager_client import (
    EventProducer,
    NoAnswer,
    NotDelivered,
    SlimSkills,
    Undelivered,
)
from schemas import Interaction, Ranking, Selection, SlimSkill, compound_key
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings
from tests.builders import slate
from tests.harness import Harness
from tests.waiting import until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SECONDS = 60.0


def put(settings: Settings, user: str, version: int, text: str | None = "likes: noir") -> None:
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


def cause(events: EventProducer) -> str:
    with pytest.raises(NotDelivered) as reported:
        events.flush(0.2)
    return reported.value.cause


def crash(broker: EmbeddedBroker) -> None:
    assert broker._process is not None
    broker._process.kill()
    broker.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[EmbeddedBroker, Settings]]:
    with EmbeddedBroker(tmp_path / "broker.log") as broker:
        settings = Settings(bootstrap=broker.bootstrap, embedded=True, data_dir=tmp_path)
        topics.ensure(settings)
        yield broker, settings


# --- a broker that is restarted


def test_a_producer_survives_a_broker_that_restarts_empty(
    own: tuple[EmbeddedBroker, Settings],
) -> None:
    broker, settings = own
    with EventProducer(broker.bootstrap) as events:
        events.interaction("ann", "films", slate(0)[0], event_id="before")
        events.flush(SECONDS)
        crash(broker)
        for number in range(50):
            events.interaction("ann", "films", slate(0)[0], event_id=f"while-{number}")
        until(lambda: cause(events) == f"broker unreachable at {broker.bootstrap}: connection refused", "the refusal")
        broker.start()
        until(
            lambda: cause(events).startswith(f"there is no topic sager.interactions at {broker.bootstrap}"),
            "the missing topic",
        )
        topics.ensure(settings)
        events.interaction("ann", "films", slate(0)[0], event_id="after")
        events.flush(SECONDS)

    with Harness(settings) as harness:
        outputs = harness.count(Interaction, 51)
    arrived = list(dict.fromkeys(event.event_id for event in outputs.values(Interaction)))
    assert arrived == [*(f"while-{number}" for number in range(50)), "after"]
    partitions = {message.partition() for message in outputs.records["interactions"]}
    assert partitions == {partition_of("ann", settings.partitions)}


def test_slim_skills_follow_a_broker_that_restarts_empty(
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
        until(lambda: skills.get("ann", "films") == "likes: westerns", "the new text")
        until(lambda: removed == ["bob"], "the removal of bob")
        put(settings, "cem", 1)
        until(lambda: len(skills) == 2, "the third user")


# --- what the broker has


def test_a_refused_record_is_reported_and_others_are_delivered(settings: Settings) -> None:
    topics.ensure(settings)
    reported: list[Undelivered] = []
    large = [{"item_id": f"i{n}", "metadata": {f"k{m}": "\N{DOG}" * 500 for m in range(60)}} for n in range(100)]
    with EventProducer(connection=reached_as(settings), on_error=reported.append) as events:
        events.interaction("ann", "films", slate(1)[0])
        refused = events.ranking("ann", "films", large)
        events.ranking("ann", "films", slate(1))
        with pytest.raises(NotDelivered, match=r"1 event given up: rankings: .*size too large"):
            events.flush(SECONDS)

    assert [each.event for each in reported] == [refused]
    assert len(refused.model_dump_json().encode()) > 4 * 1024 * 1024
    with Harness(settings) as harness:
        assert len(harness.count(Ranking, 1).values(Ranking)) == 1


# --- the pipeline answers


async def test_an_app_ranks_selects_and_erases(harness: Harness) -> None:
    """With asyncio and without, from the first request to the slim skill and its end."""
    harness.worker()
    connection = reached_as(harness.settings)
    changed, removed = asyncio.Queue[SlimSkill](), asyncio.Queue[SlimSkill]()

    def on_change(skill: SlimSkill) -> None:
        changed.put_nowait(skill)
        raise RuntimeError("an app's mistake")

    async with (
        SlimSkills(connection=connection, on_change=on_change, on_removed=removed.put_nowait) as skills,
        EventProducer(connection=connection) as events,
    ):
        first = await events.rank_async("ann", "films", slate(1), "something calm", seconds=SECONDS)
        again = await asyncio.gather(*(events.rank_async("ann", "films", slate(n), seconds=SECONDS) for n in range(5)))
        assert {item.item_id for item in first.candidates} == {item["item_id"] for item in slate(1)}
        for number, ranking in enumerate(again):
            assert {item.item_id for item in ranking.candidates} == {item["item_id"] for item in slate(number)}
        for _ in range(12):  # a line must prove itself
            ranking = events.ranking("ann", "films", slate(2))
            events.selection(user_id="ann", ranking_id=ranking.ranking_id, item_id=slate(2)[3]["item_id"])
        while not skills.get("ann", "films"):
            await asyncio.wait_for(changed.get(), SECONDS)
        events.forget("ann", actor="settings page")
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


ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
HOSTS_GUIDE = ROOT / "docs" / "hosts.md"
LINES = re.compile(r"^(\w+): (.+)\n  without: (.+)\n  with:    (.+)$", re.MULTILINE)


def run(example: Path, harness: Harness) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SAGER_")}
    done = subprocess.run(
        [sys.executable, str(example)],
        env={
            **inherited,
            "PYTHONPATH": str(ROOT / "clients" / "python"),
            "SAGER_BOOTSTRAP": harness.settings.bootstrap,
            "SAGER_PREFIX": harness.settings.prefix,
            "SAGER_PARTITIONS": str(harness.settings.partitions),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.on("embedded")
@pytest.mark.broker
@pytest.mark.thorough
def test_each_example_shows_what_the_slim_skill_changed(harness: Harness) -> None:
    harness.worker()
    harness.materializer()

    printed = {example.stem: run(example, harness) for example in EXAMPLES}

    for name, text in printed.items():
        reported = LINES.findall(text)
        assert len(reported) == 2, f"{name} printed:\n{text}"
        for _, line, without, given in reported:
            assert line.startswith("likes: ")
            assert given != without, f"{name} printed:\n{text}"
    # What the guide shows is what is printed.
    assert printed["host_vanilla"] in HOSTS_GUIDE.read_text(encoding="utf-8")

    # A second run ranks with what the first one taught, and says so.
    known = {(skill.user_id, skill.domain): skill for skill in harness.quiet().values(SlimSkill)}
    run(next(example for example in EXAMPLES if example.stem == "host_vanilla"), harness)
    out = harness.count(Ranking, 80).values(Ranking)
    assert len(harness.count(Selection, 80).values(Selection)) == 80
    vera = known["vera", "films"]
    injected = {(reported.skill_version, reported.slim_skill) for reported in (ranking.injected for ranking in out)}
    assert (vera.skill_version, vera.text) in injected

    # The guide's query tells the arms apart: here is one choice that went without, although there was a slim skill.
    without = harness.events.ranking("vera", "films", [{"item_id": name, "title": name} for name in "ab"])
    harness.events.selection(without, "b", skill_version=vera.skill_version)
    (query,) = re.findall(r"^```sql\n(.*?)^```$", HOSTS_GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    rows = harness.duckdb(query, lambda got: len(got) == 2 and got[1][1] >= 4)
    (no, once, _, first_place, _), (yes, several, users, *_) = rows
    assert (no, once, first_place) == (False, 1, 0.0)
    assert (yes, users) == (True, 2)
    assert several >= 4
    assert not harness.outputs.dead_letters
