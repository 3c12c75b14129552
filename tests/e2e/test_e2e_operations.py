"""The operators' commands against a broker: output and exit codes."""

import json

import pytest
from click.testing import Result
from confluent_kafka import Producer
from typer.testing import CliRunner

from operators.learning.prior import observe
from schemas import Contrast, DeadLetter, Position, Profile, SkillCommand, SkillDiff, Tier, compound_key, encode
from streams.cli import app
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.children import environment
from streams.operations.global_skills import read_published
from streams.settings import Settings
from tests.builders import DOMAIN, NOW, USER, a_command, an_interaction, facts
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.whatif.whatif_builders import LiveSide, a_choice

pytestmark = pytest.mark.broker


def sager(*args: str, env: dict[str, str]) -> Result:
    return CliRunner(env=env | {"COLUMNS": "160"}).invoke(app, args)


@pytest.fixture
def env(settings: Settings) -> dict[str, str]:
    topics.ensure(settings)
    return {name: value for name, value in environment(settings).items() if name.startswith("SAGER_")}


def put(settings: Settings, base: str, key: bytes, value: bytes, user: str = "ann") -> tuple[int, int]:
    where: list[tuple[int, int]] = []
    producer = Producer(producer_config(settings))
    partition = partition_of(user, settings.partitions)
    producer.produce(settings.topic(base), value, key, partition,
                     on_delivery=lambda _, m: where.append((m.partition(), m.offset())))  # fmt: skip
    producer.flush(20)
    return where[0]


def refused(settings: Settings, value: bytes, reason: str = "invalid") -> str:
    partition, offset = put(settings, "selections", b"ann", value)
    source = Position(topic=settings.topic("selections"), partition=partition, offset=offset, timestamp_ms=0)
    letter = DeadLetter(event_id=f"letter{offset}", occurred_at=NOW, stage="contrast", reason=reason,
                        detail="user_id: \x1b[31mmissing", source=source, key=b"ann", value=value)  # fmt: skip
    put(settings, "dead-letters", b"ann", encode(letter))
    return letter.event_id


def test_dead_letters_are_replayed_once(settings: Settings, env: dict[str, str]) -> None:
    text = refused(settings, b'{"a": "\x1b[2J"}')
    refused(settings, b"\xff\x00abc", "not-json")

    dry = sager("dead-letters", "replay", "--reason", "invalid", "--dry-run", env=env)
    assert (dry.exit_code, "1 would be replayed" in dry.stdout) == (0, True)
    first = sager("dead-letters", "replay", text, env=env)
    again = sager("dead-letters", "replay", text, env=env)
    assert (first.exit_code, first.stdout.strip()) == (0, "1 replayed")
    assert (again.exit_code, again.stdout.strip()) == (0, "0 replayed")
    assert f"{text}: already replayed" in again.stderr


@pytest.fixture
def replay_env(settings: Settings) -> dict[str, str]:
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


@pytest.mark.on("embedded")
def test_replay_compares_both_sides(replay_env: dict[str, str]) -> None:
    done = sager("replay", "--json", env=replay_env)
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["choices"], told["users"], told["skills"], told["identical"]) == (5, 1, 1, 1)
    assert all(each["difference"] == 0 for each in told["measures"].values())

    some = ("--domain", DOMAIN, "--limit", "3", "--since", "1h")  # of whole users
    shown = sager("replay", "--set", "warmup_rounds=2", *some, env=replay_env)
    assert shown.exit_code == 0, shown.stderr
    assert "warmup_rounds=2" in shown.stdout
    assert "choices: 5\nusers: 1" in shown.stdout


def written_by_workers(settings):
    topics.ensure(settings)
    producer = Producer(producer_config(settings))
    for number in range(8):
        user, profile = f"u{number}", None
        # Everybody took horror first, which for half of them was a passing fancy.
        for value in ["horror"] * 3 + ["comedy" if number % 2 else "drama"] * 12:
            event = an_interaction(user_id=user, domain="films")
            profile = observe(profile, event, facts(f"genre: {value}"))
            record(producer, settings, user, encode(profile))
    assert producer.flush(30) == 0


def record(producer, settings, user, value):
    producer.produce(
        settings.topic(Profile.TOPIC),
        key=compound_key(user, "films"),
        value=value,
        partition=partition_of(user, settings.partitions),
    )


def test_a_global_skill_is_built_and_published(settings, env):
    written_by_workers(settings)

    dry = sager("global-skill", "build", "--floor", "4", "--dry-run", env=env)
    assert dry.exit_code == 0, dry.stderr
    assert "nothing was published" in dry.stdout
    assert read_published(settings) == {}

    done = sager("global-skill", "build", "--floor", "4", env=env)
    assert done.exit_code == 0, done.stderr
    assert "published on" in done.stdout
    built = read_published(settings)["films"]
    assert built.users == 8
    assert built.shares["preference:genre:comedy"] == 0.5
    assert {line.value for line in built.attributes} >= {"comedy", "drama"}
    assert built.reasoned_by.reasoner == "rules"
    assert [(each.name, each.users) for each in built.personas] == [("moderate", 8)]

    build = ("global-skill", "build", "--floor", "4", "--by", "llm")
    assert "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL" in sager(*build, env=env).stderr
    says = {
        "lines": [{"attribute": "genre: comedy", "tier": "low"}],
        "strategies": {"moderate": "balanced exploration"},
    }
    with threaded(OpenAiServer(Act(says=says))) as server:
        env |= {"SAGER_LLM_BASE_URL": server.base_url}
        assert "balanced exploration" in sager(*build, env=env).stdout
        server.always = Act(Do.WRONG_SCHEMA)
        assert "lines from the statistics; invalid-reply" in sager(*build, "--dry-run", env=env).stderr
    assert [(line.value, line.tier) for line in read_published(settings)["films"].attributes] == [("comedy", Tier.LOW)]
