"""What the command line, the API and the console tell of dead letters, and how they choose some."""

from collections.abc import Iterable
from typing import Any

from schemas import DeadLetter
from streams.operations.dead_letters.reading import Chosen, Found
from streams.settings import Settings

KEY_CHARS = 200
WEBHOOK = "webhook"
"""The stage of messages that an endpoint of `sager webhooks` has refused."""


def chosen_of(
    settings: Settings,
    ids: Iterable[str],
    reasons: Iterable[str] | None,
    stages: Iterable[str] | None,
    topics: Iterable[str] | None,
    since_ms: int,
    user: str | None,
) -> Chosen:
    """A filter of dead letters; what is empty matches all. Topics may be said without the deployment's prefix."""
    return Chosen(
        ids=frozenset(ids),
        reasons=frozenset(reasons or ()),
        stages=frozenset(stages or ()),
        topics=frozenset(name if name.startswith(settings.prefix) else settings.topic(name) for name in topics or ()),
        since_ms=since_ms,
        user=user,
    )


def summary(found: Found, replayed: bool) -> dict[str, Any]:
    """A dead letter in plain values, without the bytes of its original's value."""
    letter = found.letter
    return {
        "event_id": letter.event_id,
        "refused_at": found.refused_at,
        "stage": letter.stage,
        "reason": letter.reason,
        "detail": letter.detail,
        "source": letter.source.model_dump(mode="json"),
        "key": text_of(letter.key, KEY_CHARS),
        "value_bytes": len(letter.value or b""),
        "replayed": replayed,
    }


def place_of(letter: DeadLetter) -> str:
    """Where the original was: topic, partition and offset."""
    return f"{letter.source.topic}/{letter.source.partition}/{letter.source.offset}"


def text_of(value: bytes | None, most: int) -> str:
    r"""A key as text; as a Python literal where it is none.

    >>> text_of(b"ann", 40), text_of(b"\xff", 40), text_of(None, 40)
    ('ann', "b'\\xff'", 'none')
    """
    if value is None:
        return "none"
    cut = value[:most]
    try:
        return cut.decode()
    except UnicodeDecodeError:
        return repr(cut)
