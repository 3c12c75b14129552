"""`sager replay` as a process, on the topics that a worker left behind."""

import json
from pathlib import Path

import duckdb
import pytest
from confluent_kafka import Producer

from schemas import Contrast, SkillCommand, SkillDiff, encode
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.children import environment
from streams.settings import Settings
from tests.builders import DOMAIN, USER, a_command
from tests.e2e.cli_user import sager
from tests.unit.whatif.whatif_builders import LiveSide, a_choice

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


@pytest.fixture
def env(settings: Settings) -> dict[str, str]:
    """A deployment in which a user has chosen five times and pinned a line, and a worker has learned of it."""
    settings = settings.model_copy(update={"partitions": 1})
    topics.ensure(settings)
    live = LiveSide()
    for number, genre in enumerate(("farce", "epic", "farce", "noir", "farce")):
        live.choose(a_choice(number, genre))
        if number == 2:
            live.command(a_command())
    producer = Producer(producer_config(settings))
    partition = partition_of(USER, settings.partitions)
    for base, values in (
        (Contrast.TOPIC, list(live.held.values())),
        (SkillCommand.TOPIC, [encode(each) for each in live.commands.values()]),
        (SkillDiff.TOPIC, [encode(diff) for diff in live.diffs]),
    ):
        for value in values:
            producer.produce(settings.topic(base), value, USER.encode(), partition)
    producer.flush(20)
    return {name: value for name, value in environment(settings).items() if name.startswith("SAGER_")}


def test_both_sides_are_compared_and_their_rows_kept(env: dict[str, str], tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    done = sager("replay", "--out", str(rows), "--json", env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["choices"], told["commands"], told["skills"], told["identical"]) == (5, 1, 1, 1)
    assert all(each["difference"] == 0 for each in told["measures"].values())
    query = f"SELECT count(*), bool_and(live_rank = whatif_rank) FROM read_json('{rows}')"
    assert duckdb.sql(query).fetchall() == [(5, True)]

    some = ("--domain", DOMAIN, "--limit", "3", "--since", "1h")  # of whole users
    shown = sager("replay", "--set", "merge.attributes=2", *some, env=env)
    assert shown.returncode == 0, shown.stderr
    assert "merge.attributes=2" in shown.stdout
    assert "5 choices of 1 users" in shown.stdout
