"""Topics and brokers that are not as they must be: what each command tells its user, and with what code it ends."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from infra.kafka.kafka import Kafka, KafkaUnavailable
from schemas import TOPICS
from streams.kafka import topics
from streams.local.launch import environment
from streams.materializer.rows import PUBLIC_TOPICS
from streams.settings import Settings
from tests.conftest import APACHE
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough]
on_apache = pytest.mark.skipif(not APACHE, reason="the embedded broker knows no such thing")

STARTERS = (["worker"], ["topics", "--create"])
"""What makes topics, and so refuses wrong ones."""


def run(args: list[str], settings: Settings) -> subprocess.CompletedProcess[str]:
    """As a user does, in a terminal wide enough for a message on one line."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "streams.cli", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env=environment(settings) | {"COLUMNS": "400"},
    )


def refuses(args: list[str], settings: Settings, *told: str) -> None:
    ended = run(args, settings)
    assert ended.returncode == 1, (args, ended.stderr)
    assert "Traceback" not in ended.stdout + ended.stderr
    for text in told:
        assert text in ended.stdout + ended.stderr, (args, text)


def make(admin: AdminClient, name: str, partitions: int, **config: str) -> None:
    admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(20)


def config_of(admin: AdminClient, name: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    return {key: entry.value for key, entry in admin.describe_configs([resource])[resource].result(20).items()}


def test_a_topic_with_other_partitions_stops_whoever_relies_on_them(settings: Settings) -> None:
    name = settings.topic("rankings")
    make(topics.admin(settings), name, 3)

    for args in STARTERS:
        refuses(args, settings, f"{name} has 3 partitions instead of 4", "set SAGER_PARTITIONS=3", "SAGER_PREFIX")
    # It has made no other one meanwhile, which would then be wrong in its turn.
    states = topics.inspect(settings)
    assert [state.name for state in states if state.partitions is not None] == [name]
    refuses(["topics"], settings, "has 3 partitions instead of 4", "missing")


def test_the_advised_partition_count_is_right(settings: Settings) -> None:
    topics.ensure(settings)
    wanted = settings.model_copy(update={"partitions": 6})
    own = Settings(**{**wanted.model_dump(include=wanted.model_fields_set), "partitions": 6})

    refuses(["worker"], own, "set SAGER_PARTITIONS=4 if all have that count")
    assert run(["topics"], settings).returncode == 0


@on_apache
def test_partitions_that_were_added_stop_the_worker_and_not_the_materializer(settings: Settings) -> None:
    topics.ensure(settings)
    name, admin = settings.topic("contrasts"), topics.admin(settings)
    admin.create_partitions([NewPartitions(name, 5)])[name].result(20)

    refuses(["worker"], settings, f"{name} has 5 partitions instead of 4")
    assert "has 5 partitions instead of 4" in starts(["materialize"], settings)


@on_apache
def test_a_topic_with_another_clean_up_policy_names_the_command_that_mends_it(settings: Settings) -> None:
    topics.ensure(settings)
    name, admin = settings.topic("selections"), topics.admin(settings)
    alter(admin, name, "compact")

    mends = f"--alter --topic {name} --add-config cleanup.policy=delete"
    for args in STARTERS:
        refuses(args, settings, f"{name} has cleanup.policy=compact instead of delete", mends)
    refuses(["topics"], settings, "has cleanup.policy=compact instead of delete")
    # What Kafka is about to delete is all the more to be read.
    assert "has cleanup.policy=compact instead of delete" in starts(["materialize"], settings)

    alter(admin, name, "delete")
    assert run(["topics", "--create"], settings).returncode == 0
    # Compacting a log whose records have another key would leave one of each user's.
    alter(admin, settings.topic("skill-diffs"), "delete")
    refuses(["worker"], settings, "has cleanup.policy=delete instead of compact", "use another SAGER_PREFIX")


def alter(admin: AdminClient, name: str, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)


def starts(args: list[str], settings: Settings) -> str:
    """What a process that does its work has logged by the time it is at it; it ends as asked."""
    log = settings.data_dir / "started.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "streams.cli", *args], stderr=out, env=environment(settings)
        )
    try:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while "materializing" not in log.read_text() and time.monotonic() < give_up:
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
    return log.read_text()


def test_missing_topics_are_made_by_a_worker_and_asked_for_by_the_others(settings: Settings) -> None:
    refuses(["materialize"], settings, f"{len(PUBLIC_TOPICS)} topics are missing", "Start a `sager worker`")
    refuses(["topics"], settings, "missing", "`sager topics --create` creates what is missing")


def test_no_broker(settings: Settings, tmp_path: Path) -> None:
    nobody = Settings(bootstrap="127.0.0.1:1", data_dir=tmp_path)
    for args in (["worker"], ["materialize"], ["topics"], ["topics", "--create"]):
        refuses(args, nobody, "at 127.0.0.1:1", "SAGER_BOOTSTRAP", "`sager up` brings its own")


@on_apache
def test_more_replicas_than_brokers(settings: Settings) -> None:
    many = Settings(**{**settings.model_dump(exclude_unset=True), "replication": 3})
    for args in STARTERS:
        refuses(args, many, "cannot be created", "set SAGER_REPLICATION to no more than there are brokers")


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Settings]:
    """A deployment on a cluster where nobody may create topics."""
    try:
        kafka = Kafka(
            properties={
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "allow.everyone.if.no.acl.found": "true",
            },
            log=tmp_path / "kafka.log",
            heap_mb=320,
        )
    except KafkaUnavailable as why:
        pytest.skip(str(why))
    with kafka:
        settings = Settings(bootstrap=kafka.bootstrap, data_dir=tmp_path / "data")
        rules = [
            AclBinding(kind, name, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, permission)
            for kind, name in ((ResourceType.BROKER, "kafka-cluster"), (ResourceType.TOPIC, "*"))
            for operation, permission in (
                (AclOperation.ALL, AclPermissionType.ALLOW),
                (AclOperation.CREATE, AclPermissionType.DENY),
            )
        ]
        admin = topics.admin(settings)  # held by name: its futures die with it
        for future in admin.create_acls(rules, request_timeout=20).values():
            future.result(20)
        yield settings


@on_apache
@pytest.mark.seldom
def test_no_permission_to_create_topics(strict: Settings) -> None:
    for args in STARTERS:
        refuses(args, strict, "cannot be created", "grant the user Create", "`sager topics --create`")
    refuses(["topics"], strict, "missing")
    refuses(["materialize"], strict, "topics are missing")


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[Kafka, Settings]]:
    try:
        kafka = Kafka(brokers=3, log=tmp_path / "kafka.log", heap_mb=256)
    except KafkaUnavailable as why:
        pytest.skip(str(why))
    with kafka:
        yield kafka, Settings(bootstrap=kafka.bootstrap, data_dir=tmp_path / "data", replication=3)


@on_apache
@pytest.mark.seldom
def test_three_replicas_of_which_two_must_have_a_record(three: tuple[Kafka, Settings]) -> None:
    kafka, settings = three
    topics.ensure(settings)
    admin = topics.admin(settings)
    for base in TOPICS:
        assert config_of(admin, settings.topic(base))["min.insync.replicas"] == "2", base

    # Without a majority nothing can be made, and that is told instead of waited for.
    kafka.kill(2)
    kafka.kill(3)
    other = Settings(**{**settings.model_dump(exclude_unset=True), "prefix": "other."})
    refuses(["topics", "--create"], other, "within 15 s", "brokers")
