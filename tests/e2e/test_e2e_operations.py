"""The operator's commands as processes: what they print, their exit codes, and never a traceback."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer

from schemas import DeadLetter, PolicySkill, Position, SkillDiff, compound_key, encode
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.children import environment
from streams.settings import Settings
from tests.builders import NOW, a_contrast, a_proposal, a_skill, evolve
from tests.e2e.cli_user import sager

pytestmark = pytest.mark.broker


@pytest.fixture
def env(settings: Settings) -> dict[str, str]:
    """The variables of a deployment whose topics are there."""
    topics.ensure(settings)
    return {name: value for name, value in environment(settings).items() if name.startswith("SAGER_")}


def put(settings: Settings, base: str, key: bytes, value: bytes, user: str = "ann") -> tuple[int, int]:
    """Partition and offset of a record."""
    where: list[tuple[int, int]] = []
    producer = Producer(producer_config(settings))
    partition = partition_of(user, settings.partitions)
    producer.produce(settings.topic(base), value, key, partition,
                     on_delivery=lambda _, m: where.append((m.partition(), m.offset())))  # fmt: skip
    producer.flush(20)
    return where[0]


def refused(settings: Settings, value: bytes, reason: str = "invalid") -> str:
    """The id of a dead letter whose original is on the topic of selections."""
    partition, offset = put(settings, "selections", b"ann", value)
    source = Position(topic=settings.topic("selections"), partition=partition, offset=offset, timestamp_ms=0)
    letter = DeadLetter(event_id=f"letter{offset}", occurred_at=NOW, stage="contrast", reason=reason,
                        detail="user_id: \x1b[31mmissing", source=source, key=b"ann", value=value)  # fmt: skip
    put(settings, "dead-letters", b"ann", encode(letter))
    return letter.event_id


class TestDeadLetters:
    def test_list_show_and_replay(self, settings: Settings, env: dict[str, str]) -> None:
        text, binary = (
            refused(settings, b'{"a": "\x1b[2J"}'),
            refused(settings, b"\xff\x00abc" + b"z" * 5_000, "not-json"),
        )

        listed = sager("dead-letters", "list", "--since", "1h", env=env)
        assert listed.returncode == 0, listed.stderr
        assert text in listed.stdout
        assert "2 in all: " in listed.stderr
        assert "invalid 1" in listed.stderr
        assert "not-json 1" in listed.stderr
        assert "; 0 of them replayed" in listed.stderr
        only = json.loads(sager("dead-letters", "list", "--reason", "not-json", "--json", env=env).stdout)
        assert [each["event_id"] for each in only["letters"]] == [binary]

        shown = sager("dead-letters", "show", binary, env=env)
        assert "\\xff" in shown.stdout
        assert "3,005 bytes more" in shown.stdout
        assert '{"a": "' in (told := sager("dead-letters", "show", text, env=env).stdout)
        assert "\x1b" not in told + listed.stdout

        dry = sager("dead-letters", "replay", "--reason", "invalid", "--dry-run", env=env)
        assert (dry.returncode, "1 would be replayed" in dry.stdout) == (0, True)
        first = sager("dead-letters", "replay", text, env=env)
        again = sager("dead-letters", "replay", text, env=env)
        assert (first.returncode, first.stdout.strip()) == (0, "1 replayed")
        assert (again.returncode, again.stdout.strip()) == (0, "0 replayed")
        assert f"{text}: already replayed" in again.stderr
        assert "1 of them replayed" in sager("dead-letters", "list", env=env).stderr
        after = " ".join(sager("dead-letters", "show", text, env=env).stdout.split())
        assert f"replayed to: {settings.topic('selections')}/" in after


@pytest.mark.thorough
def test_rebuild_compares_writes_a_file_and_mends(settings: Settings, env: dict[str, str], tmp_path: Path) -> None:
    contrast = a_contrast(["genre: noir"])
    skill, diff = evolve(
        a_skill(version=0, contrasts=0, event_id=contrast.event_id), a_proposal(discovered=["genre: noir"]), contrast
    )
    put(settings, SkillDiff.TOPIC, b"ann", encode(diff))
    put(
        settings,
        PolicySkill.TOPIC,
        compound_key("ann", "books"),
        encode(skill.model_copy(update={"contrasts": 99, "last_diff": None})),
    )

    bad = sager("rebuild", env=env)
    assert bad.returncode == 1, bad.stderr
    assert "diffs: 1\nskills: 1\n" in bad.stdout
    assert "sager rebuild --apply" in bad.stderr

    # Only the skill: one choice makes a line of the lowest tier, which no slim skill says.
    assert json.loads(sager("rebuild", "--apply", "--json", env=env).stdout)["different"] == 1
    good = sager("rebuild", "--json", env=env)
    assert (good.returncode, json.loads(good.stdout)["fine"]) == (0, True)
