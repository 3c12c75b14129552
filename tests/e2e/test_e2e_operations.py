"""The operator's commands as processes: what they print, their exit codes, and never a traceback."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from schemas import DeadLetter, PolicySkill, Position, SkillDiff, compound_key, encode
from streams.cli.options import moment_ms
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.launch import environment
from streams.settings import Settings
from tests.builders import NOW, a_contrast, a_proposal, a_skill, evolve
from tests.e2e.cli_user import sager
from tests.openai_server import OpenAiServer, threaded

pytestmark = pytest.mark.broker
NOBODY = {"SAGER_BOOTSTRAP": "127.0.0.1:1"}


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
        assert "2 in all: 1 invalid, 1 not-json; 0 of them replayed" in listed.stderr.replace(
            "1 not-json, 1 invalid", "1 invalid, 1 not-json"
        )
        only = json.loads(
            sager("dead-letters", "list", "--reason", "not-json", "--topic", "selections", "--json", env=env).stdout
        )
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
        assert f"replayed to {settings.topic('selections')}/" in after

    def test_what_is_not_there_or_not_chosen(self, env: dict[str, str]) -> None:
        missing = sager("dead-letters", "show", "nope", env=env)
        assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
        assert "dead-letters list" in missing.stderr
        unknown = sager("dead-letters", "replay", "nope", env=env)
        assert (unknown.returncode, "nope: no such dead letter" in unknown.stderr) == (1, True)
        assert sager("dead-letters", "replay", env=env).returncode == 2
        assert sager("dead-letters", "list", "--since", "soon", env=env).returncode == 2

    def test_a_prefix_that_has_no_topics(self, env: dict[str, str]) -> None:
        done = sager("dead-letters", "list", env={**env, "SAGER_PREFIX": "nobody."})

        assert (done.returncode, "SAGER_PREFIX" in done.stderr, "Traceback" in done.stderr) == (1, True, False)


def test_since_is_a_moment_or_a_time_before_now() -> None:
    day = 24 * 3600 * 1000

    assert abs(moment_ms("7d") - (time.time() * 1000 - 7 * day)) < 60_000
    assert moment_ms("2026-01-31T18:00") == datetime(2026, 1, 31, 18, tzinfo=UTC).timestamp() * 1000
    assert moment_ms("2026-01-31T18:00+01:00") == datetime(2026, 1, 31, 17, tzinfo=UTC).timestamp() * 1000


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
    assert "1 skills folded from 1 diffs" in bad.stdout
    assert "sager rebuild --apply" in bad.stderr

    # Only the skill: one choice makes a line of the lowest tier, which no slim skill says.
    assert json.loads(sager("rebuild", "--apply", "--json", env=env).stdout)["written"] == 1
    good = sager("rebuild", "--json", env=env)
    assert (good.returncode, json.loads(good.stdout)["counts"]["equal"]) == (0, 1)


class TestDoctor:
    def test_nobody_there_is_one_error_in_bounded_time(self) -> None:
        done = sager("doctor", "--json", env=NOBODY)

        assert (done.returncode, done.stderr) == (1, "")
        found = {each["check"]: each["status"] for each in json.loads(done.stdout)}
        assert [check for check, status in found.items() if status == "error"] == ["broker"]
        assert found["topics"] == found["workers"] == found["dead letters"] == "skipped"

    def test_a_deployment_at_rest(self, env: dict[str, str]) -> None:
        done = sager("doctor", env=env)

        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout
        assert " as required, " in done.stdout
        assert "start `sager worker`" in done.stdout
        assert "0 errors, 2 warnings" in done.stdout

    def test_settings_that_contradict_each_other(self) -> None:
        wrong = {**NOBODY, "SAGER_EMBEDDED": "true", "SAGER_REPLICATION": "3", "SAGER_WATCHDOG_SECONDS": "1"}
        found = json.loads(sager("doctor", "--json", env=wrong).stdout)

        told = {each["found"]: each["status"] for each in found if each["check"] == "settings"}
        assert told == {
            "SAGER_WATCHDOG_SECONDS=1 is less than SAGER_REBALANCE_SECONDS": "warning",
            "SAGER_EMBEDDED=true, but SAGER_REPLICATION=3": "error",
        }

    @pytest.mark.seldom
    def test_the_model_is_asked_for_and_the_key_never_told(self) -> None:
        def asked(**more: str) -> dict[str, str]:
            env = {**NOBODY, "SAGER_REASONER": "llm", "OPENAI_API_KEY": "sk-very-secret", **more}
            done = sager("doctor", "--json", env=env)
            assert "very-secret" not in done.stdout + done.stderr
            return next(each for each in json.loads(done.stdout) if each["check"] == "LLM")

        with threaded(OpenAiServer()) as server:
            there = asked(SAGER_LLM_BASE_URL=server.base_url, SAGER_LLM_MODEL="fake")
            other = asked(SAGER_LLM_BASE_URL=server.base_url, SAGER_LLM_MODEL="gpt-none")
        gone = asked(SAGER_LLM_BASE_URL="http://user:very-secret@127.0.0.1:1/v1")

        assert (there["status"], "has fake" in there["found"]) == ("ok", True)
        assert (other["status"], other["todo"]) == ("error", "set SAGER_LLM_MODEL")
        assert (gone["status"], "does not answer" in gone["found"]) == ("error", True)


@pytest.mark.parametrize(
    "command", ["dead-letters", "dead-letters list", "dead-letters show", "dead-letters replay", "rebuild", "doctor"]
)
def test_help_shows_an_example(command: str) -> None:
    done = sager(*command.split(), "--help")

    assert done.returncode == 0
    assert f"sager {command}" in done.stdout.split("Example")[1]


@pytest.mark.parametrize(
    "args", [["dead-letters", "list"], ["dead-letters", "show", "x"], ["dead-letters", "replay", "x"], ["rebuild"]]
)
def test_nobody_there_is_told_in_one_line(args: list[str]) -> None:
    done = sager(*args, env=NOBODY)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "SAGER_BOOTSTRAP" in done.stderr
