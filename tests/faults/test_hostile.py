"""Clocks, repeats, late events, crowds and keys as no producer should send them, through the real stream."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from operators.admission import RejectReason, abstention_id, is_ahead
from schemas import Correction, Event, Feedback, Interaction, Item, Ranking, RankRequest, Selection, decode, encode
from schemas.state import ItemUpdate, Memory, Profile
from streams.kafka.clients import partition_of
from tests.builders import film, slate
from tests.conftest import APACHE
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker, pytest.mark.thorough]

NOW = datetime.now(UTC)
TURNS = 2
CLOCKS = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    NOW - timedelta(days=7),
    NOW,
    NOW + timedelta(days=3 * 365),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)
STAMPS_MS = (1, int(NOW.timestamp() * 1000), int(NOW.timestamp() * 1000) + 10**11, 2**53, 2**62)
"""Of a record, which its producer chooses as freely as all else. Apache Kafka refuses those of the future."""


def an_event(model: type[Event], event_id: str, at: datetime, **fields: Any) -> Any:
    return model.model_validate({"event_id": event_id, "occurred_at": at, **fields})


def a_choice(user: str, number: int, at: datetime) -> tuple[Ranking, Selection]:
    shown = slate(number)
    name = f"{user}-{number}"
    about = {"user_id": user, "ranking_id": name}
    ranking = an_event(Ranking, f"r-{name}", at, domain="films", candidates=shown, **about)
    return ranking, an_event(Selection, f"s-{name}", at, item_id=shown[0]["item_id"], **about)


def said(user: str, number: int, at: datetime) -> list[Any]:
    whose = {"user_id": user, "domain": "films"}
    unwanted = {"stance": "avoids", "dimension": "genre", "value": f"genre {number}"}
    ranking, selection = a_choice(user, 100 + number, at)
    return [
        an_event(Feedback, f"f-{user}-{number}", at, item=film(60 + number), signal="liked", **whose),
        an_event(Correction, f"w-{user}-{number}", at, directives=[unwanted], **whose),
        ranking,
        selection.model_copy(update={"item_id": None, "none_taken": True}),
    ]


def told(user: str, number: int) -> set[str]:
    return {f"f-{user}-{number}", f"w-{user}-{number}", abstention_id(user, f"{user}-{100 + number}")}


def produce(harness: Harness, event: Any, stamp_ms: int = 0, key: bytes | None = None) -> None:
    owner = event.items[0].item_id if isinstance(event, ItemUpdate) else getattr(event, "user_id", None)
    where = {} if owner is None else {"partition": partition_of(owner, harness.settings.partitions)}
    key = event.item.item_id.encode() if isinstance(event, Item) else key
    stamp = 0 if APACHE else stamp_ms
    harness.raw.produce(harness.settings.topic(event.TOPIC), encode(event), key, timestamp=stamp, **where)


def test_wrong_clocks_and_repeats_on_every_topic_change_nothing(harness: Harness) -> None:
    """Every event three times, in any order, with the times of six wrong clocks and five kinds of time stamp.

    An event that is ahead of its record is a dead letter each time; each other event is learned once.
    """
    rng = random.Random(7)
    events: list[Any] = []
    for number, at in enumerate(CLOCKS):
        user = f"user-{number}"
        for each in range(TURNS):
            events += a_choice(user, each, at)
            item = film(50 + each)
            events.append(an_event(Interaction, f"i-{user}-{each}", at, user_id=user, domain="films", item=item))
            events.append(an_event(Item, f"it-{user}-{each}", at, domain="films", item=item))
            events += said(user, each, at)
            events.append(
                an_event(
                    RankRequest,
                    f"q-{user}-{each}",
                    at,
                    request_id=f"q-{user}-{each}",
                    user_id=user,
                    domain="films",
                    candidates=slate(each),
                )
            )
    right = STAMPS_MS[1]
    # A record that is as far ahead as its event has jumped with its clock, and is learned.
    others = {event.event_id: STAMPS_MS[:2] if event.occurred_at > NOW else STAMPS_MS for event in events}
    copies = [(e, stamp) for e in events for stamp in (right, *rng.choices(others[e.event_id], k=2))]
    rng.shuffle(copies)
    let_in = [event for event, stamp in copies if isinstance(event, Item) or not _is_ahead(event, stamp)]
    harness.worker()
    harness.materializer()
    for event, stamp in copies:
        produce(harness, event, stamp)
    harness.raw.flush(30)

    known = sum(at <= NOW for at in CLOCKS)
    choices = TURNS * known
    numbers = [number for number, at in enumerate(CLOCKS) if at <= NOW]
    heard = {name for number in numbers for each in range(TURNS) for name in told(f"user-{number}", each)}
    sent = sum(isinstance(event, Ranking) for event, _ in copies)
    answers = sum(isinstance(event, RankRequest) for event in let_in)
    refused = len(copies) - len(let_in)
    outputs = harness.until(
        lambda out: (
            len(out.diffs) >= choices + len(heard)
            and len(out.values(Ranking)) >= sent + answers
            and len(out.dead_letters) >= refused
        ),
        "all diffs, answers and dead letters",
    )
    harness.quiet()

    assert {letter.reason for letter in outputs.dead_letters} == {RejectReason.FROM_THE_FUTURE}
    learned = Counter(diff.event_id for diff in outputs.diffs)
    assert sum(diff.is_contrast for diff in outputs.diffs) == choices
    assert heard <= set(learned)
    assert set(learned.values()) == {1}, "interactions that came after the first choice are counted once, too"
    profiles = [decode(Profile, value) for value in outputs.newest(Profile).values()]
    assert [profile.interactions for profile in profiles] == [TURNS] * known
    memories = [decode(Memory, value) for value in outputs.newest(Memory).values()]
    assert [memory.interactions for memory in memories] == [2 * TURNS] * known
    harness.assert_all_stores_agree()
    counts = harness.duckdb("SELECT (SELECT count(*) FROM interactions), (SELECT count(*) FROM selections)", bool)
    assert counts == [(choices, 2 * choices)]


def _is_ahead(event: Any, stamp_ms: int) -> bool:
    # Python's own times end long before those that a record can bear.
    stamped = datetime.fromtimestamp(min(stamp_ms / 1000, CLOCKS[-1].timestamp() - 1), UTC)
    return is_ahead(event.occurred_at, stamped)
