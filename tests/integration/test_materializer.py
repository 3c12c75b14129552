"""The materializer against a broker: every topic arrives, once, and a restart of anything is survived."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from schemas import TOPICS, DeadLetter, decode, encode, topic_of
from streams.analytics import MaterializerError, read, run
from streams.analytics.store import live_file
from streams.kafka import topics
from streams.kafka.clients import producer_config
from streams.local.broker import EmbeddedBroker, free_port
from streams.settings import Settings
from tests.unit.analytics.analytics_builders import diff, item, ranking, receipt, selection, skill, slim
from tests.unit.analytics.analytics_builders import interaction as an_interaction
from tests.waiting import WAIT_SECONDS, until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings(settings):
    made = settings.model_copy(update={"partitions": 2, "publish_seconds": 0.2, "batch_seconds": 0.1})
    topics.ensure(made)
    return made


@contextmanager
def materializing(settings):
    """Runs the materializer in a thread; what it raises is raised here."""
    stop, raised = threading.Event(), []

    def target():
        try:
            run.materialize(settings, stop)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(WAIT_SECONDS)
    if raised:
        raise raised[0]


def produce(settings, *records):
    producer = Producer(producer_config(settings))
    for each in records:
        base, key, value = each if isinstance(each, tuple) else _wire(each)
        producer.produce(settings.topic(base), value, key)
    assert producer.flush(WAIT_SECONDS) == 0


def _wire(event):
    topic = topic_of(type(event))
    return topic.base, topic.key_of(event), encode(event)


def query(settings, sql):
    try:
        con = read.connect(settings)
    except MaterializerError:
        return None
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def eventually(settings, sql, expected):
    until = time.monotonic() + WAIT_SECONDS
    while (found := query(settings, sql)) != expected:
        assert time.monotonic() < until, f"{sql}: {found} and not {expected}"
        time.sleep(0.1)


def interaction(number):
    return an_interaction(f"x{number}", f"u{number}")


def test_events_arrive_in_the_snapshot_and_bad_ones_in_dead_letters(settings):
    produce(
        settings,
        *(item("a", "A"), interaction(1), interaction(1), ranking("r1"), selection("r1", "b")),
        *(diff(1), diff(2), skill(1), skill(2), slim(2)),
        ("skills", b"\xffkey", b"\xffno json"),
        ("interactions", b"ann", b"no json, and the agent's to put away"),
        ("dead-letters", b"ann", b"not even a dead letter"),
    )
    with materializing(settings):
        eventually(settings, "SELECT count(*) FROM dead_letters", [(1,)])
        eventually(settings, "SELECT user_id, ranking_id, item_rank FROM outcomes", [("ann", "r1", 2)])
        eventually(settings, "SELECT count(*) FROM interactions", [(1,)])
        eventually(settings, "SELECT version, high FROM skills", [(2, 1)])
        eventually(settings, "SELECT text FROM slim_skills", [("likes: sf",)])
        produce(settings, ("skills", TOPICS["skills"].key_of(skill(2)), None))
        eventually(settings, "SELECT count(*) FROM skills", [(0,)])
    assert query(settings, "SELECT stage, reason, source_topic, key, value FROM dead_letters") == [
        ("materialize", "not-json", settings.topic("skills"), b"\xffkey", b"\xffno json")
    ]
    con = read.connect(settings)
    assert read.diffs(con, "ann") == [diff(1), diff(2)]
    con.close()
    [letter] = dead_letters_that_decode(settings)
    assert (letter.key, letter.value) == (b"\xffkey", b"\xffno json")


def dead_letters_that_decode(settings):
    consumer = Consumer({"bootstrap.servers": settings.bootstrap, "group.id": "test"})
    name = settings.topic("dead-letters")
    consumer.assign([TopicPartition(name, n, OFFSET_BEGINNING) for n in range(settings.partitions)])
    found, until = [], time.monotonic() + WAIT_SECONDS
    while len(found) < 2 and time.monotonic() < until:
        found += consumer.consume(10, timeout=0.5)
    consumer.close()
    return [decode(DeadLetter, m.value()) for m in found if m.value().startswith(b"{")]


def start_process(settings):
    code = "import threading; from streams.analytics.run import *; materialize(Settings(), threading.Event())"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "SAGER_BOOTSTRAP": settings.bootstrap,
        "SAGER_PREFIX": settings.prefix,
        "SAGER_DATA_DIR": str(settings.data_dir),
        "SAGER_PUBLISH_SECONDS": str(settings.publish_seconds),
        "SAGER_BATCH_SECONDS": "0.05",
        "SAGER_BATCH_ROWS": "50",
        "SAGER_EMBEDDED": "true",
    }
    return subprocess.Popen([sys.executable, "-c", code], env=environment)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_an_erasure_rewrites_the_file_and_loses_and_doubles_no_row(settings):
    everything = "SELECT count(*), count(DISTINCT event_id) FROM interactions"
    with materializing(settings):
        produce(settings, an_interaction("x", "erased-person"), *map(interaction, range(100)))
        eventually(settings, everything, [(101, 101)])
        produce(settings, receipt("erased-person"))
        for start in range(100, 900, 100):
            produce(settings, *map(interaction, range(start, start + 100)))
            time.sleep(0.2)
        eventually(settings, "SELECT is_stained FROM meta", [(None,)])
        eventually(settings, everything, [(900, 900)])
    for file in (live_file(settings), settings.duckdb_file):
        assert b"erased-person" not in file.read_bytes()


def test_its_end_publishes_all_rows(settings):
    rarely = settings.model_copy(update={"publish_seconds": 3_600.0})
    log = live_file(rarely).with_name("live.duckdb.wal")
    with materializing(rarely):
        eventually(rarely, "SELECT count(*) FROM interactions", [(0,)])
        produce(rarely, *map(interaction, range(900)))
        until(lambda: log.exists() and log.stat().st_size > 20_000, "rows that are not in the snapshot")
    with duckdb.connect(str(live_file(rarely)), read_only=True) as con:
        rows = con.execute("SELECT count(*) FROM interactions").fetchall()
    assert query(rarely, "SELECT count(*) FROM interactions") == rows != [(0,)]


@pytest.mark.parametrize("snapshot", ["snapshot", "no snapshot"])
def test_a_damaged_live_file_is_filled_again_and_every_row_is_there(settings, snapshot):
    everything = "SELECT count(*), count(DISTINCT event_id) FROM interactions"
    with materializing(settings):
        produce(settings, *map(interaction, range(100)), skill(1))
        eventually(settings, everything, [(100, 100)])
    live = live_file(settings)
    rarely = settings.model_copy(update={"publish_seconds": 3_600.0})
    process = start_process(rarely)
    log = live.with_name("live.duckdb.wal")
    produce(settings, *map(interaction, range(100, 1_000)), skill(2))
    until(lambda: log.exists() and log.stat().st_size > 20_000, "rows that are not in the snapshot")
    kill(process)
    # A loss of power leaves a log of the same length, without its last bytes.
    written = log.read_bytes()
    log.write_bytes(written[: len(written) // 2].ljust(len(written), b"\0"))
    if snapshot == "no snapshot":
        settings.duckdb_file.unlink()

    with materializing(settings):
        eventually(settings, everything, [(1_000, 1_000)])
        eventually(settings, "SELECT version FROM skills", [(2,)])


@pytest.mark.parametrize("live", [False, True], ids=["while it is down", "while it runs"])
def test_a_broker_that_forgot_everything_is_read_from_the_beginning_and_the_rows_stay(tmp_path, monkeypatch, live):
    monkeypatch.setattr(run, "CHECK_SECONDS", 0.5)
    port = free_port()
    settings = Settings(
        bootstrap=f"127.0.0.1:{port}",
        embedded=True,
        partitions=2,
        data_dir=tmp_path / "data",
        publish_seconds=0.2,
        batch_seconds=0.1,
    )

    def first_life():
        produce(settings, *map(interaction, range(100)), skill(1), skill(2))
        eventually(settings, "SELECT count(*) FROM interactions", [(100,)])
        eventually(settings, "SELECT version FROM skills", [(2,)])

    def second_life():
        # Fewer records than before, then as many as before: neither may hide behind the old offsets.
        produce(settings, *map(interaction, range(90, 110)), skill(1))
        eventually(settings, "SELECT count(*) FROM interactions", [(110,)])
        produce(settings, *map(interaction, range(110, 250)), skill(3))
        eventually(settings, "SELECT count(*), count(DISTINCT event_id) FROM interactions", [(250, 250)])
        eventually(settings, "SELECT version FROM skills", [(3,)])
        ids = "SELECT count(*), count(DISTINCT topic_id) FROM sink_offsets WHERE topic = 'sager.interactions'"
        eventually(settings, ids, [(2, 1)])

    broker = EmbeddedBroker(tmp_path / "broker.log", port).start()
    try:
        topics.ensure(settings)
        with materializing(settings):
            first_life()
            if live:
                broker.stop()
                broker.start()
                topics.ensure(settings)
                second_life()
        if not live:
            broker.stop()
            broker.start()
            topics.ensure(settings)
            with materializing(settings):
                second_life()
    finally:
        broker.stop()
