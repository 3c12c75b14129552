"""The fence (invariant 2): a value knows which records it has applied."""

import pytest

from operators.applied import is_applied, with_applied
from tests.builders import a_position

HELD = (a_position(7, "a", 1, timestamp_ms=50),)


@pytest.mark.parametrize(
    ("offset", "topic", "partition", "timestamp_ms", "applied"),
    [
        (7, "a", 1, 50, True),
        (3, "a", 1, 20, True),
        (8, "a", 1, 50, False),
        (7, "b", 1, 50, False),
        (7, "a", 2, 50, False),
        (3, "a", 1, 51, False),
    ],
)
def test_record_is_applied_up_to_the_fence(
    offset: int, topic: str, partition: int, timestamp_ms: int, applied: bool
) -> None:
    assert is_applied(HELD, a_position(offset, topic, partition, timestamp_ms)) is applied


def test_fence_stays_one_entry_per_topic_for_ever() -> None:
    fence: tuple[object, ...] = ()
    for offset in range(1_000):
        fence = with_applied(fence, a_position(offset, "ab"[offset % 2]))

    assert len(fence) == 2
