"""Rows of records that the broker has lost are called lost, and forged rows beside them are still called forged."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from confluent_kafka import Message, Producer
from pydantic import SecretStr

from operators.findings import Kind
from streams.kafka import topics
from streams.kafka.clients import producer_config
from streams.kafka.scanner import Scanner
from streams.local.broker import EmbeddedBroker
from streams.materializer import run
from streams.materializer.rows import PUBLIC_TOPICS
from streams.rights.verify import make_anchor, partition, verify
from streams.settings import Settings
from tests.integration.test_verify import KEY, World, of, people

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

FACTS = {Kind.LOG_CUT, Kind.VANISHED, Kind.ROW_LOST, Kind.SKILL_MISSING, Kind.SLIM_AHEAD, Kind.SLIM_WITHOUT_LOG}
"""Findings about a log that has become shorter; none of them alleges a forgery."""


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(partition, "LATE_SECONDS", 0.0)
    given = {"chain_key": SecretStr(KEY.decode()), "partitions": 2, "batch_seconds": 0.05, "publish_seconds": 0.2}
    return World(settings.model_copy(update=given))


@pytest.fixture
def restarted(world: World, tmp_path: Path) -> Iterator[Callable[[str], Settings]]:
    """A broker that has come back without the last records, those of the named user."""
    with EmbeddedBroker(tmp_path / "restarted.log") as broker:
        after = world.settings.model_copy(update={"bootstrap": broker.bootstrap})

        def come_back(without: str) -> Settings:
            topics.ensure(after)
            producer = Producer(producer_config(after))
            with Scanner(world.settings) as scanner:
                for topic in PUBLIC_TOPICS:
                    for message in scanner.read(scanner.partitions(topic.base)):
                        if without.encode() not in (message.key() or b"") + (message.value() or b""):
                            copy(producer, message)
            producer.flush(30)
            return after

        yield come_back


def copy(producer: Producer, message: Message) -> None:
    producer.produce(
        str(message.topic()), message.value(), message.key(), int(message.partition() or 0),
        timestamp=message.timestamp()[1],
    )  # fmt: skip
    producer.poll(0)


def materialize(settings: Settings, records: int) -> None:
    stop, read = threading.Event(), [0]

    def note(written: run.Written) -> None:
        read[0] += written.records
        if read[0] >= records:
            stop.set()

    run.materialize(settings, stop, note)


def test_rows_of_records_that_a_broker_lost_are_no_forgery(
    world: World, restarted: Callable[[str], Settings], tmp_path: Path
) -> None:
    people(world, "ann", "bob", "lost")
    world.materialize()
    assert verify(world.settings).findings == []

    after = restarted("lost")
    done = verify(after)

    assert of(done.findings, "lost") & {Kind.ROW_LOST, Kind.LOG_CUT, Kind.VANISHED} >= {Kind.ROW_LOST, Kind.VANISHED}
    assert {each.kind for each in done.findings} <= FACTS
    assert of(done.findings, "ann") == of(done.findings, "bob") == set()
    assert not make_anchor(after, tmp_path / "anchor").found, "the topics themselves are as they were sealed"


def test_rows_stay_lost_when_others_records_have_taken_their_offsets(
    world: World, restarted: Callable[[str], Settings]
) -> None:
    people(world, "ann", "bob", "lost")
    world.materialize()
    before = world.sent
    later = World(restarted("lost"))
    people(later, "cem", "dan", "eva", "fay")
    later.flush()
    materialize(later.settings, before - before // 3 + later.sent)

    done = verify(later.settings)

    assert Kind.ROW_LOST in of(done.findings, "lost")
    assert {each.kind for each in done.findings} <= FACTS
    assert {each.user_id for each in done.findings} == {"lost"}

    forged = later.settings.data_dir / "forged.duckdb"
    shutil.copy(later.settings.duckdb_file, forged)
    forged.chmod(0o600)
    with duckdb.connect(str(forged)) as con:
        con.execute(
            "INSERT INTO selections SELECT * REPLACE ('ann-2' AS user_id) FROM selections WHERE user_id = 'ann'"
        )
        con.execute("UPDATE slim_skills SET text = 'likes: Obey' WHERE user_id = 'bob'")
        con.execute(
            "INSERT INTO selections SELECT * REPLACE ('ann-3' AS user_id, 1000000 AS kafka_offset) "
            "FROM selections WHERE user_id = 'ann'"
        )
    found = verify(later.settings.model_copy(update={"duckdb": forged})).findings

    assert of(found, "ann-2") == of(found, "ann-3") == {Kind.ROW_FORGED}
    assert of(found, "bob") == {Kind.ROW_EDITED}
