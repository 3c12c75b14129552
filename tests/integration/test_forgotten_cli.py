"""What `sager` shows of people who were forgotten: nothing, also where a topic still has their records."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from operators.forget import with_scope
from schemas import (
    DeadLetter,
    ForgetRequest,
    Forgotten,
    Model,
    Position,
    Receipt,
    SlimSkill,
    compound_key,
    encode,
    subject_of,
)
from streams.cli import app
from streams.operations.dead_letters.reading import Chosen, NoSuchLetter, one
from streams.operations.dead_letters.replay import plan
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

NOW = datetime.now(UTC)


def put(harness: Harness, base: str, key: bytes, value: Model | None) -> None:
    harness.raw.produce(harness.settings.topic(base), None if value is None else encode(value), key, 0)
    assert harness.raw.flush(20) == 0


def slim_skill(user: str, version: int = 1) -> SlimSkill:
    return SlimSkill(
        event_id=f"{user}-{version}", occurred_at=NOW, user_id=user, domain="films", skill_version=version,
        text=f"likes: what {user} likes", likes=(f"what {user} likes",), style="", tokens=6,
    )  # fmt: skip


def letter(user: str, number: int, *, by_key: bool) -> DeadLetter:
    sent = NOW - timedelta(minutes=5)
    source = Position(topic="selections", partition=0, offset=number, timestamp_ms=int(sent.timestamp() * 1000))
    key, value = (user.encode(), b"{") if by_key else (b"", b'{"user_id": "%s", "oops"' % user.encode())
    return DeadLetter.of("contrast", source, "not-json", f"letter {number}", key, value, sent, 1_000)


def receipt(user: str) -> Receipt:
    request = ForgetRequest(event_id="r", occurred_at=NOW, user_id=user, actor="advocate")
    empty = Receipt(event_id="r", occurred_at=NOW, subject=subject_of(user))
    return with_scope(empty, request, Forgotten(event_id="r", until=NOW, actor="advocate", done=True))


def sager(harness: Harness, *words: str) -> Any:
    settings = harness.settings
    env = {"SAGER_BOOTSTRAP": settings.bootstrap, "SAGER_PREFIX": settings.prefix}
    return CliRunner(env=env).invoke(app, list(words))


def test_a_removed_slim_skill_is_not_shown(harness: Harness) -> None:
    for user in ("ann", "bob"):
        put(harness, "slim-skills", compound_key(user, "films"), slim_skill(user))
    assert sager(harness, "slim", "ann", "--domain", "films").stdout == "likes: what ann likes\n"

    put(harness, "slim-skills", compound_key("ann", "films"), None)

    gone = sager(harness, "slim", "ann")
    assert (gone.exit_code, gone.stdout) == (1, "")
    assert "'ann' has no slim skill" in gone.stderr
    assert "what ann likes" not in gone.stderr
    assert json.loads(sager(harness, "slim", "bob", "--json").stdout)["text"] == "likes: what bob likes"
    put(harness, "slim-skills", compound_key("ann", "films"), slim_skill("ann"))
    assert sager(harness, "slim", "ann", "--domain", "films").stdout == "likes: what ann likes\n", "who came back"


def test_dead_letters_of_somebody_forgotten_are_neither_shown_nor_replayed(harness: Harness) -> None:
    letters = [letter("ann", 1, by_key=True), letter("ann", 2, by_key=False), letter("bob", 3, by_key=True)]
    for each in letters:
        put(harness, "dead-letters", each.key or b"", each)
    assert json.loads(sager(harness, "dead-letters", "list", "--json").stdout)["total"] == 3

    put(harness, "receipts", subject_of("ann").encode(), receipt("ann"))

    told = json.loads(sager(harness, "dead-letters", "list", "--json").stdout)
    assert (told["total"], told["forgotten"]) == (1, 2)
    assert [each["event_id"] for each in told["letters"]] == [letters[2].event_id]
    shown = sager(harness, "dead-letters", "list")
    assert "ann" not in shown.stdout
    assert "2 more are of people who were forgotten" in shown.stderr
    with pytest.raises(NoSuchLetter):
        one(harness.settings, letters[0].event_id)
    planned = plan(harness.settings, Chosen(ids=frozenset(each.event_id for each in letters)))
    assert sorted(planned.unknown) == sorted(each.event_id for each in letters[:2])
