"""What `sager` shows of people who were forgotten: nothing, also where a topic still has their records."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from operators.erasure import with_scope
from schemas import DeadLetter, ErasedScope, ForgetRequest, Model, Position, Receipt, SlimSkill, encode, subject_digest
from schemas.topics import compound_key
from streams.cli import app
from streams.kafka.clients import partition_of
from streams.operations.dead_letters import LetterFilter, plan
from tests.builders import a_candidate, a_command, a_ranking, a_selection, an_interaction
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

NOW = datetime.now(UTC)


def put(harness: Harness, base: str, key: bytes, value: Model | None) -> None:
    harness.raw.produce(harness.settings.topic(base), None if value is None else encode(value), key, 0)
    assert harness.raw.flush(20) == 0


def slim_skill(user: str) -> SlimSkill:
    return SlimSkill(
        event_id=f"{user}-1", occurred_at=NOW, user_id=user, domain="films", skill_version=1,
        text=f"likes: what {user} likes", likes=(f"what {user} likes",), style="", tokens=6,
    )  # fmt: skip


def letter(user: str, number: int, *, by_key: bool) -> DeadLetter:
    sent = NOW - timedelta(minutes=5)
    source = Position(topic="selections", partition=0, offset=number, timestamp_ms=int(sent.timestamp() * 1000))
    key, value = (user.encode(), b"{") if by_key else (b"", b'{"user_id": "%s", "oops"' % user.encode())
    return DeadLetter.of("contrast", source, "not-json", f"letter {number}", key, value, sent, 1_000)


def receipt(user: str, until: datetime = NOW) -> Receipt:
    request = ForgetRequest(event_id="r", occurred_at=NOW, user_id=user, actor="advocate")
    empty = Receipt(event_id="r", occurred_at=NOW, subject=subject_digest(user))
    return with_scope(empty, request, ErasedScope(event_id="r", until=until, actor="advocate", done=True))


def sager(harness: Harness, *words: str) -> Any:
    settings = harness.settings
    env = {"SAGER_BOOTSTRAP": settings.bootstrap, "SAGER_PREFIX": settings.prefix}
    return CliRunner(env=env).invoke(app, list(words))


def test_dead_letters_of_an_erased_user_are_not_replayed(harness: Harness) -> None:
    letters = [letter("ann", 1, by_key=True), letter("ann", 2, by_key=False), letter("bob", 3, by_key=True)]
    for each in letters:
        put(harness, "dead-letters", each.key or b"", each)
    put(harness, "receipts", subject_digest("ann").encode(), receipt("ann"))

    planned = plan(harness.settings, LetterFilter(ids=frozenset(each.event_id for each in letters)))
    assert sorted(planned.unknown) == sorted(each.event_id for each in letters[:2])


@pytest.mark.seldom
def test_no_command_shows_records_of_an_erased_user(harness: Harness, tmp_path: Path) -> None:
    """Every verb that reads topics by person; those on the snapshot have no row left to show."""
    at = NOW - timedelta(minutes=1)
    for user in ("ann", "bob"):
        place(harness, "slim-skills", user, encode(slim_skill(user)), compound_key(user, "films"))
        for event in (
            an_interaction(a_candidate("i", genre=f"loved by {user}"), user_id=user, occurred_at=at),
            a_ranking(user_id=user, occurred_at=at, instruction=f"something for {user}"),
            a_selection(user_id=user, occurred_at=at, item_id=f"taken by {user}"),
            a_command(user_id=user, occurred_at=at, reason=f"because of {user}"),
        ):
            place(harness, type(event).TOPIC, user, encode(event))
        place(harness, "selections", user, b"{")
        put(harness, "dead-letters", user.encode(), letter(user, 1, by_key=True))
    place(harness, "slim-skills", "ann", None, compound_key("ann", "films"))
    place(harness, "receipts", "ann", encode(receipt("ann", datetime.now(UTC))), subject_digest("ann").encode())

    for user, is_there in (("ann", False), ("bob", True)):
        asked = sager(harness, "policy", "forget", user, "--everything", "--dry-run", "--json")
        held = {name for name in json.loads(asked.stdout)["held"] if name != "topic receipts"}
        assert bool(held) is is_there, (held, asked.stderr)
        exported = sager(harness, "policy", "export", user, "--to", str(tmp_path / user))
        assert exported.exit_code == 0, exported.stderr
        told = gzip.decompress((tmp_path / user).read_bytes())
        assert (f"by {user}".encode() in told) is is_there
        assert (b'"unreadable"' in told) is is_there
    shown = sager(harness, "dead-letters", "replay", "--dry-run", "--since", "7d")
    assert "ann" not in shown.stdout + shown.stderr


def place(harness: Harness, base: str, user: str, value: bytes | None, key: bytes | None = None) -> None:
    partition = partition_of(user, harness.settings.partitions)
    harness.raw.produce(harness.settings.topic(base), value, key or user.encode(), partition)
    assert harness.raw.flush(20) == 0
