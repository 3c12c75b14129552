"""`sager replay` as a process, on the topics that a worker left behind."""

import json
from pathlib import Path

import duckdb
import pytest
from confluent_kafka import Producer

from schemas import Contrast, SkillCommand, SkillDiff, encode
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.launch import environment
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
        (Contrast.TOPIC, [held.raw for held in live.held]),
        (SkillCommand.TOPIC, [encode(each.command) for each in live.commands.values()]),
        (SkillDiff.TOPIC, [encode(diff) for diff in live.diffs]),
    ):
        for value in values:
            producer.produce(settings.topic(base), value, USER.encode(), partition)
    producer.flush(20)
    return {name: value for name, value in environment(settings).items() if name.startswith("SAGER_")}


def test_both_sides_are_compared_and_their_rows_kept(env: dict[str, str], tmp_path: Path) -> None:
    side = str(tmp_path / "new" / "side.duckdb")
    done = sager("replay", "--name", "same", "--out", side, "--json", env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["choices"], told["commands"], told["skills"], told["identical"]) == (5, 1, 1, 1)
    assert all(each["difference"] == 0 for each in told["measures"].values())

    some = ("--domain", DOMAIN, "--limit", "3", "--since", "1h")  # of whole users
    shown = sager("replay", "--name", "none", "--out", side, "--set", "merge.attributes=2", *some, env=env)
    assert shown.returncode == 0, shown.stderr
    assert "none: merge.attributes=2" in shown.stdout
    assert "5 choices of 1 users" in shown.stdout
    with duckdb.connect(side, read_only=True) as con:
        query = "SELECT run, choices FROM replay_arms ORDER BY run"
        assert con.execute(query).fetchall() == [("none", 5), ("same", 5)]
        assert con.execute("SELECT count(*) FROM replay_runs WHERE complete").fetchone() == (2,)


def test_what_cannot_be_replayed_is_told_and_leaves_no_file(env: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "side.duckdb"
    nobody = sager("replay", "--user", "nobody", "--out", str(out), env=env)
    assert (nobody.returncode, "no choice is as you asked for" in nobody.stderr) == (1, True)
    assert not out.exists()

    unknown = sager("replay", "--set", "weaken_window=2", env=env)
    assert (unknown.returncode, "merge.weaken_window" in unknown.stderr) == (1, True)
