"""What is held about a person: verified, taken out whole, and taken in elsewhere."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import SecretStr

from operators.chain import seal
from operators.merge import merge, start
from schemas import (
    Event,
    Forgotten,
    Interaction,
    PolicySkill,
    Receipt,
    SkillDiff,
    compound_key,
    diff_key,
    encode,
    subject_of,
    topic_of,
)
from streams import topics
from streams.kafka import partition_of
from streams.materializer import rows
from streams.materializer.batch import Batch
from streams.materializer.records import Record
from streams.materializer.snapshot import copy_and_rename
from streams.materializer.store import Store
from streams.outbox import Outbox
from streams.portable import NotPortable, export, load, take_in
from streams.settings import Settings
from streams.verify import verify
from tests.builders import a_command, a_proposal, a_time, an_attribute, evolve
from tests.harness import Harness
from tests.worlds import film, slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

ANN, BOB, DOMAIN = "ann é", "bob", "films"
CHOICES = 3


@pytest.fixture
def lived(harness: Harness) -> Harness:
    """A deployment in which two people have a past and have chosen, and one record was refused."""
    harness.worker()
    harness.materializer()
    for user in (ANN, BOB):
        for number in range(4):
            harness.events.interaction(user, DOMAIN, film(number))
        for number in range(CHOICES):
            shown = slate(number)
            harness.events.selection(harness.events.ranking(user, DOMAIN, shown), shown[3]["item_id"])
    name = harness.settings.topic("selections")
    harness.raw.produce(name, b'{"user_id": "ann \\u00e9"}', ANN.encode(), partition_of(ANN, 4))
    harness.raw.produce(name, b'{"user_id": "bob"}', b"bob", partition_of(BOB, 4))
    harness.raw.flush(10)
    harness.events.flush()
    harness.until(lambda out: len(out.diffs) == 2 * CHOICES and len(out.dead_letters) == 2, "all of it")
    harness.duckdb("SELECT sum(version) FROM skills", lambda rows: rows == [(2 * CHOICES,)])
    return harness


def records(folder: Path, base: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "topics" / f"{base}.jsonl").read_text().splitlines()]


def other_deployment(harness: Harness, folder: Path) -> Settings:
    name = f"t{uuid.uuid4().hex[:8]}"
    return harness.settings.model_copy(update={"prefix": f"{name}.", "app_id": name, "data_dir": folder})


def test_a_person_takes_all_that_is_held_about_them_to_another_deployment(lived: Harness, tmp_path: Path) -> None:
    manifest = export(lived.settings, ANN, tmp_path / "ann", parquet=True)

    held = {base: file.records for base, file in manifest.topics.items()}
    assert held["interactions"] == 4
    assert held["selections"] == CHOICES + 1
    assert (held["skill-diffs"], held["skills"], held["dead-letters"]) == (CHOICES, 1, 1)
    assert {"profiles", "memories", "open-rankings", "item-memories"} <= held.keys()
    texts = [file.read_text() for file in (tmp_path / "ann" / "topics").iterdir()]
    assert not any('"bob"' in text for text in texts), "nothing of anybody else"
    for row in records(tmp_path / "ann", "item-memories"):
        assert [taker["user_id"] for taker in row["value"]["takers"]] == [ANN]
    assert manifest.tables["skill_diffs"].records == CHOICES
    kept = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/ann/tables/interactions.parquet'").fetchall()
    assert kept == [(4,)]
    modes = {path.stat().st_mode & 0o777 for path in [tmp_path / "ann", *(tmp_path / "ann").rglob("*")]}
    assert modes == {0o700, 0o600}
    with pytest.raises(NotPortable, match="choose another --to"):
        export(lived.settings, ANN, tmp_path / "ann")

    with Harness(other_deployment(lived, tmp_path / "there")) as there:
        there.worker("there")
        there.has_started("there")
        done = take_in(there.settings, load(tmp_path / "ann"), "anna", "ann", "moved", 30, interactions=True)
        assert done.interactions == 4
        [(_, diff)] = done.diffs.items()
        assert diff is not None
        assert diff.reasoned_by.reasoner == "command by ann"
        arrived = there.count(PolicySkill, 1).values(PolicySkill)[-1]
        [exported] = records(tmp_path / "ann", "skills")
        lines = {line["attribute_id"]: line for line in exported["value"]["attributes"]}
        assert {a.attribute_id: a.model_dump(mode="json") for a in arrived.attributes} == lines
        there.until(lambda out: len(out.values(Interaction)) == 4, "the interactions")
        assert {event.user_id for event in there.outputs.values(Interaction)} == {"anna"}
        sent = {row["value"]["event_id"] for row in records(tmp_path / "ann", "interactions")}
        assert {event.event_id for event in there.outputs.values(Interaction)} == sent


# --- verifying


class Log:
    """Sealed logs, on the topics and in a DuckDB file, as workers and the materializer write them."""

    def __init__(self, settings: Settings) -> None:
        topics.ensure(settings)
        self.settings, self.outbox = settings, Outbox(settings)
        self.diffs: dict[str, list[SkillDiff]] = {}
        self.live = Store(settings.data_dir / "live.duckdb", settings.prefix)

    def write(self, user: str, *chosen: str) -> None:
        """A version for each choice of an item with this fact."""
        skill, log = start(user, DOMAIN, (an_attribute(),), a_command()), list[SkillDiff]()
        for text in chosen:
            _, diff = evolve(skill, a_proposal((), [text]))
            log.append(seal(diff, skill.chain, b"hush"))
            skill = merge(skill, log[-1])
        self.diffs[user] = log
        self.send(user, *log, skill)
        batch = Batch()
        for event in (*log, skill):
            topic = topic_of(type(event))
            where = partition_of(user, self.settings.partitions)
            batch.add(rows.read(Record(topic, where, 0, 0, topic.key_of(event), encode(event))))
        self.live.write(batch, {})
        self.live.checkpoint(a_time().replace(tzinfo=None), None)
        copy_and_rename(self.live.path, self.settings.duckdb_file)

    def send(self, user: str, *events: Event) -> None:
        for event in events:
            self.produce(user, type(event), topic_of(type(event)).key_of(event), encode(event))
        self.outbox.flush(10, "records")

    def produce(self, user: str, model: type[Event], key: bytes, value: bytes | None) -> None:
        where = partition_of(user, self.settings.partitions)
        self.outbox._producer.produce(self.settings.topic(model.TOPIC), value, key, where)

    def found(self, user: str | None = None) -> list[str]:
        return [finding.what for finding in verify(self.settings, user).findings]


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    with_key = settings.model_copy(update={"chain_key": SecretStr("hush")})
    made = Log(with_key)
    made.write(ANN, "genre: saga", "genre: noir", "mood: dark")
    made.write(BOB, "genre: saga", "mood: dark")
    yield made
    made.live.close()


def test_what_was_written_is_verified_and_what_was_edited_is_found(log: Log) -> None:
    done = verify(log.settings)
    assert (done.findings, done.users, done.skills, done.versions, done.copies) == ([], 2, 2, 5, 7)

    log.send(BOB, log.diffs[BOB][0].model_copy(update={"analysis": "because I say so"}))
    told = log.found()
    assert "version 1: it is not what was sealed, or was sealed with another key" in told
    assert "version 1 of skill_diffs in DuckDB is not as in the log" in told
    assert log.found(ANN) == []
    assert verify(log.settings.model_copy(update={"chain_key": None}), ANN).found


def test_a_log_that_is_gone_needs_a_receipt(log: Log) -> None:
    for diff in log.diffs[ANN]:
        log.produce(ANN, SkillDiff, diff_key(ANN, DOMAIN, diff.version), None)
    log.produce(ANN, PolicySkill, compound_key(ANN, DOMAIN), None)
    log.outbox.flush(10, "records")
    assert "version 1 of skill_diffs in DuckDB is not in the log" in log.found(ANN)
    assert log.found("nobody") == ["there is neither a log nor a receipt"]

    forgotten = Forgotten(event_id="f1", until=a_time(60), actor="ann")
    log.send(ANN, Receipt(event_id="f1", occurred_at=a_time(60), subject=subject_of(ANN), person=forgotten))
    done = verify(log.settings, ANN)
    assert (done.findings, done.forgotten) == ([], 1)
    assert verify(log.settings).findings == []
