"""What needs no broker: which dead letters are whole, and that no check of the doctor takes longer than its time."""

import threading
from collections.abc import Iterator

import pytest

from schemas import DeadLetter
from schemas.dead_letters import MAX_ORIGINAL_BYTES
from streams.operations.dead_letters.reading import is_clipped
from streams.operations.doctor.findings import Bounded, Finding, Status, ok
from tests.builders import NOW, a_position


def a_letter(value: bytes | None = b"x", key: bytes | None = b"ann", detail: str = "") -> DeadLetter:
    fields = {"event_id": "d1", "occurred_at": NOW, "stage": "evolve", "reason": "invalid", "source": a_position()}
    return DeadLetter(**fields, key=key, value=value, detail=detail)


@pytest.mark.parametrize(
    ("letter", "clipped"),
    [
        (a_letter(), False),
        (a_letter(None, None), False),
        (a_letter(b"x" * (MAX_ORIGINAL_BYTES - 1)), False),
        (a_letter(detail="[original bytes clipped] not-json: ..."), True),
        (a_letter(detail="the text [original bytes clipped] is in the record"), False),
    ],
    ids=["whole", "none", "just whole", "cut", "only quoted"],
)
def test_only_a_whole_original_can_be_sent_again(letter: DeadLetter, clipped: bool) -> None:
    assert is_clipped(letter) is clipped


@pytest.mark.parametrize(("limit", "clipped"), [(4, True), (5, False)])
def test_what_a_stage_cuts_is_known_to_be_cut(limit: int, clipped: bool) -> None:
    letter = DeadLetter.of("evolve", a_position(), "invalid", "of no kind", b"k", b"12345", limit=limit)

    assert is_clipped(letter) is clipped


def test_a_check_that_hangs_is_an_error_after_its_time_and_not_waited_for() -> None:
    released = threading.Event()

    def hangs() -> Iterator[Finding]:
        released.wait(60)
        yield ok("hangs", "at last")

    [found] = Bounded("hangs", hangs, seconds=0.05).findings()
    released.set()

    assert (found.check, found.status) == ("hangs", Status.ERROR)
    assert "no answer within" in found.found


def test_a_check_that_fails_is_an_error_and_keeps_nobody_else_from_looking() -> None:
    def fails() -> Iterator[Finding]:
        yield ok("fails", "so far")
        raise RuntimeError("a defect")

    [found] = Bounded("fails", fails, seconds=20).findings()

    assert (found.status, found.found) == (Status.ERROR, "RuntimeError: a defect")
