"""An app's events before any broker is there: what is refused, what is kept, what is told."""

import asyncio
import time
from datetime import UTC, datetime

import pytest

import schemas
from sager_client import (
    AsyncEventProducer,
    BrokerUnreachable,
    Closed,
    EventProducer,
    Limits,
    NotDelivered,
    NotShown,
    SlimSkill,
    SlimSkills,
    Undelivered,
)
from sager_client.schemas import GlobalSkill, encode, line_digest
from streams.local.broker import free_port
from tests.worlds import slate

REFUSED = "broker unreachable at {}: connection refused"


@pytest.fixture
def nowhere() -> str:
    """Bootstrap servers at which nobody listens."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def events(nowhere: str):
    producer = EventProducer(nowhere)
    yield producer
    producer.end()


# --- what an event is made of


def test_an_event_is_the_pipelines_own_by_its_bytes(events: EventProducer) -> None:
    ranking = events.ranking("ann", "films", slate(1), "something calm", ranking_id="r1", arm="b")

    theirs = schemas.decode(schemas.Ranking, encode(ranking))

    assert (theirs.ranking_id, theirs.instruction, theirs.injected.arm) == ("r1", "something calm", "b")
    assert schemas.encode(theirs) == encode(ranking)


def test_an_item_that_was_not_shown_is_refused_at_once(events: EventProducer) -> None:
    ranking = events.ranking("ann", "films", slate(1))
    pending = events.pending

    with pytest.raises(NotShown, match=r"'no such film' does not stand in the ranking, which has .* and 5 more"):
        events.selection(ranking, "no such film")

    assert issubclass(NotShown, ValueError)
    assert events.pending == pending


def test_rights_of_a_person(events: EventProducer) -> None:
    whole = events.forget("ann", actor="settings page")
    line = events.forget("ann", "films", "preference:genre:crime", actor="settings page")

    assert (whole.domain, whole.line) == (None, None)
    assert (
        line.line
        == line_digest("ann", "films", "preference:genre:crime")
        == schemas.line_digest("ann", "films", "preference:genre:crime")
    )
    with pytest.raises(TypeError, match="within a domain"):
        events.forget("ann", attribute_id="preference:genre:crime", actor="ann")


def test_what_only_the_pipeline_writes_is_refused(events: EventProducer) -> None:
    skill = SlimSkill(
        event_id="1", occurred_at=datetime.now(UTC), user_id="a", domain="films", skill_version=1, text="", tokens=0
    )

    with pytest.raises(TypeError, match="only the pipeline writes slim-skills"):
        events.send(skill)
    events.send(GlobalSkill(event_id="1", occurred_at=datetime.now(UTC), domain="films", users=0))


# --- without a broker


def test_flush_tells_the_cause(events: EventProducer, nowhere: str) -> None:
    events.selection(events.ranking("ann", "films", slate(1)), slate(1)[0]["item_id"])

    with pytest.raises(NotDelivered) as told:
        wait_for_cause(events, nowhere)

    assert str(told.value).startswith("2 events not delivered within ")
    assert told.value.cause == REFUSED.format(nowhere)
    assert (told.value.unsent, told.value.refused) == (2, 0)
    assert events.pending == 2, "they are still on their way"


def wait_for_cause(events: EventProducer, nowhere: str) -> None:
    """Flush until the connection has been tried: how soon that is depends on the machine."""
    give_up = time.monotonic() + 60
    while True:
        try:
            events.flush(1)
        except NotDelivered as error:
            if "no answer" not in error.cause or time.monotonic() > give_up:
                raise


def test_a_full_queue_raises_with_the_cause_instead_of_waiting_for_ever(nowhere: str) -> None:
    events = EventProducer(nowhere, limits=Limits(max_events=3, wait_seconds=0.1))
    for number in range(3):
        events.interaction("ann", "films", slate(number)[0])

    with pytest.raises(NotDelivered) as told:
        events.interaction("ann", "films", slate(3)[0])

    assert str(told.value).startswith("3 events wait for the broker, and no room for another within 0.1 s: broker unre")
    events.end()


def test_a_queue_is_full_by_its_bytes_too(nowhere: str) -> None:
    events = EventProducer(nowhere, limits=Limits(max_bytes=1_000, wait_seconds=0))
    events.ranking("ann", "films", slate(1))

    with pytest.raises(NotDelivered):
        events.ranking("ann", "films", slate(1))

    events.end()


def test_what_is_given_up_is_told_with_its_event(nowhere: str) -> None:
    told: list[Undelivered] = []

    def on_error(undelivered: Undelivered) -> None:
        told.append(undelivered)
        raise RuntimeError("an app's mistake")

    events = EventProducer(nowhere, on_error=on_error, limits=Limits(give_up_seconds=0.2))
    sent = [events.interaction("ann", "films", slate(number)[0]) for number in range(3)]
    with pytest.raises(NotDelivered, match=r"3 events given up: not delivered within 0.2 s: broker unreachable at "):
        events.flush(60)

    assert [each.event for each in told] == sent
    assert all("not delivered within 0.2 s: broker unreachable" in each.cause for each in told)
    events.flush(0)  # told once
    events.close()


def test_closing_gives_up_what_is_left(nowhere: str) -> None:
    told: list[Undelivered] = []
    events = EventProducer(nowhere, on_error=told.append)
    events.interaction("ann", "films", slate(1)[0])

    with pytest.raises(NotDelivered, match=r"^1 event not delivered within 0.1 s"):
        events.close(0.1)

    assert len(told) == 1
    assert "closed before it was delivered" in told[0].cause
    with pytest.raises(Closed):
        events.interaction("ann", "films", slate(1)[0])
    events.close()


def test_slim_skills_start_empty_without_a_broker_and_log_the_cause(
    nowhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    skills = SlimSkills(nowhere)
    try:
        assert skills.start(0.5) is skills
        assert (skills.ready, len(skills), skills.get("ann", "films")) == (False, 0, "")
        (logged,) = [each for each in caplog.records if each.name == "sager_client"]
        assert logged.levelname == "WARNING"
        assert logged.getMessage().startswith(
            "sager.slim-skills could not be read within 0.5 s: broker unreachable at "
        )
        with pytest.raises(BrokerUnreachable, match=r"could not be read within 0.1 s: broker unreachable at "):
            skills.wait(0.1)
    finally:
        skills.close()


# --- asyncio


async def test_an_asyncio_producer_never_blocks_the_loop_and_tells_the_cause(nowhere: str) -> None:
    events = AsyncEventProducer(nowhere, limits=Limits(max_events=2, wait_seconds=0.3))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    ranking = await events.ranking("ann", "films", slate(1))
    await events.selection(ranking, slate(1)[0]["item_id"])
    with pytest.raises(NotDelivered, match=r"no room for another within 0.3 s: broker unreachable"):
        await events.interaction("ann", "films", slate(1)[0])
    assert ticks, "the loop stood still while the queue was full"
    with pytest.raises(NotDelivered, match=r"^2 events not delivered within 0.1 s: broker unreachable"):
        await events.flush(0.1)
    with pytest.raises(NotShown):
        await events.selection(ranking, "no such film")
    ticking.cancel()
    with pytest.raises(NotDelivered):
        await events.close(0.1)
