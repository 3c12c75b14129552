"""Topics and brokers that are not as they must be: what each command tells its user, and with what code it ends."""

import subprocess
import sys

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from streams.analytics.rows import PUBLIC_TOPICS
from streams.kafka import topics
from streams.local.children import environment
from streams.settings import Settings
from tests.conftest import APACHE
from tests.waiting import WAIT_SECONDS, until

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough]
on_apache = pytest.mark.skipif(not APACHE, reason="the embedded broker knows no such thing")

STARTERS = (["worker"], ["topics", "--create"])
"""What makes topics, and so refuses wrong ones."""


def run(args: list[str], settings: Settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "streams.cli", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
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


def test_a_topic_with_other_partitions_stops_whoever_relies_on_them(settings: Settings) -> None:
    name = settings.topic("rankings")
    make(topics.admin(settings), name, 3)

    for args in STARTERS:
        refuses(args, settings, f"{name} has 3 partitions instead of 4", "set SAGER_PARTITIONS=3", "SAGER_PREFIX")
    # It has made no other one meanwhile, which would then be wrong in its turn.
    states = topics.inspect(settings)
    assert [state.name for state in states if state.partitions is not None] == [name]
    refuses(["topics"], settings, "has 3 partitions instead of 4", "missing")


@on_apache
def test_partitions_that_were_added_stop_the_worker_and_not_the_materializer(settings: Settings) -> None:
    topics.ensure(settings)
    name, admin = settings.topic("contrasts"), topics.admin(settings)
    admin.create_partitions([NewPartitions(name, 5)])[name].result(20)

    refuses(["worker"], settings, f"{name} has 5 partitions instead of 4")
    starts(["materialize"], settings)


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
    starts(["materialize"], settings)

    alter(admin, name, "delete")
    assert run(["topics", "--create"], settings).returncode == 0


def alter(admin: AdminClient, name: str, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)


def starts(args: list[str], settings: Settings) -> None:
    """A process comes to its work, and ends as asked."""
    log = settings.data_dir / "started.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "streams.cli", *args], stderr=out, env=environment(settings)
        )
    try:
        until(lambda: process.poll() is not None or "materializing" in log.read_text(), "it to be at work")
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0, log.read_text()
    finally:
        process.kill()


def test_missing_topics_are_made_by_a_worker_and_asked_for_by_the_others(settings: Settings) -> None:
    refuses(["materialize"], settings, f"{len(PUBLIC_TOPICS)} topics are missing", "Start a `sager worker`")
    refuses(["topics"], settings, "missing", "`sager topics --create` creates the missing topics")
