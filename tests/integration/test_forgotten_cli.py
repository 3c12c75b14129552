"""Dead letters of erased users stay unknown to operators, although the topic still has them."""

from datetime import UTC, datetime, timedelta

import pytest

from operators.erasure import with_scope
from schemas import DeadLetter, ErasedScope, ForgetRequest, Model, Position, Receipt, encode, subject_digest
from streams.operations.dead_letters import LetterFilter, plan
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

NOW = datetime.now(UTC)


def put(harness: Harness, base: str, key: bytes, value: Model) -> None:
    harness.raw.produce(harness.settings.topic(base), encode(value), key, 0)
    assert harness.raw.flush(20) == 0


def letter(user: str, number: int, *, by_key: bool) -> DeadLetter:
    sent = NOW - timedelta(minutes=5)
    source = Position(topic="selections", partition=0, offset=number, timestamp_ms=int(sent.timestamp() * 1000))
    key, value = (user.encode(), b"{") if by_key else (b"", b'{"user_id": "%s", "oops"' % user.encode())
    return DeadLetter.of("contrast", source, "not-json", f"letter {number}", key, value, sent, 1_000)


def receipt(user: str) -> Receipt:
    request = ForgetRequest(event_id="r", occurred_at=NOW, user_id=user, actor="advocate")
    empty = Receipt(event_id="r", occurred_at=NOW, subject=subject_digest(user))
    return with_scope(empty, request, ErasedScope(event_id="r", until=NOW, actor="advocate", done=True))


def test_dead_letters_of_an_erased_user_are_not_replayed(harness: Harness) -> None:
    letters = [letter("ann", 1, by_key=True), letter("ann", 2, by_key=False), letter("bob", 3, by_key=True)]
    for each in letters:
        put(harness, "dead-letters", each.key or b"", each)
    put(harness, "receipts", subject_digest("ann").encode(), receipt("ann"))

    planned = plan(harness.settings, LetterFilter(ids=frozenset(each.event_id for each in letters)))
    assert sorted(planned.unknown) == sorted(each.event_id for each in letters[:2])
