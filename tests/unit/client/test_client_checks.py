"""Warnings of the client about valid events that teach nothing."""

import pytest

import schemas
from sager_client import AsyncEventProducer, EventProducer, SlimSkills
from streams.local.broker import free_port

FACTS = {"genres": ["Sci-Fi"]}


@pytest.fixture
def events():
    producer = EventProducer(f"127.0.0.1:{free_port()}")
    yield producer
    producer.end()


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "sager_client" and each.levelname == "WARNING"]


def test_good_events_are_sent_without_a_warning(events: EventProducer, caplog: pytest.LogCaptureFixture) -> None:
    shown = [{"item_id": name, "metadata": FACTS} for name in "ab"]
    ranking = events.ranking("ann", "films", shown, "something calm")
    events.selection(ranking, "a")
    events.feedback("ann", "films", shown[0], "liked")
    events.forget("ann", "films", actor="settings page")
    for number in range(30):
        events.interaction(f"person-{number}", "films", shown[0])

    assert logged(caplog) == []


def test_items_without_metadata_are_reported_once(events: EventProducer, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        events.ranking("ann", "films", [{"item_id": "a", "genres": ["Sci-Fi"]}, {"item_id": "b", "metadata": FACTS}])

    (warning,) = logged(caplog)
    assert warning.startswith("rankings: 1 of 2 items without metadata.")
    assert "send its facts in metadata, such as {'genres'" in warning
    assert events.pending == 3, "a warning stops no event"


def test_an_unknown_signal_is_reported_once_with_the_known_ones(
    events: EventProducer, caplog: pytest.LogCaptureFixture
) -> None:
    for signal in ("loved", "loved", "liked"):
        events.feedback("ann", "films", {"item_id": "a", "metadata": FACTS}, signal)

    (warning,) = logged(caplog)
    assert "no built-in signal is called 'loved'" in warning
    assert "SAGER_SIGNALS" in warning
    assert "liked, disliked, rated" in warning


@pytest.mark.parametrize(
    "sent",
    [
        [("ann", "films"), ("films", "ann")],
        [("films", "user-17")],
        [("films", "1048576")],
        [("films", "0b6e7a52-4a41-4f0c-9c5e-0a3f7c1f9d11")],
        [("books", "ann")],
        [("films", f"name{'abcdefghijklmnopqrstuvwxyz'[number]}") for number in range(26)],
    ],
    ids=["both ways", "numbered user", "number", "uuid", "a parser's domain", "one user in many domains"],
)
def test_swapped_user_and_domain_are_reported_once_and_no_user_is_named(
    events: EventProducer, caplog: pytest.LogCaptureFixture, sent: list[tuple[str, str]]
) -> None:
    for user, domain in sent * 2:
        events.interaction(user, domain, {"item_id": "a", "metadata": FACTS})

    (warning,) = logged(caplog)
    assert warning.startswith("user and domain look swapped: the order is user_id, domain, ")
    assert not any(user in warning for user, _ in sent if user not in ("films", "books"))


def test_a_question_with_user_and_domain_swapped_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    skills = SlimSkills(f"127.0.0.1:{free_port()}")
    skill = {"event_id": "1", "occurred_at": "2026-01-01T00:00:00Z", "user_id": "ann", "domain": "films"}
    known = schemas.SlimSkill.model_validate({**skill, "skill_version": 1, "text": "likes: noir", "tokens": 3})
    skills._take(schemas.compound_key("ann", "films"), schemas.encode(known))

    assert [skills.get("bob", "films"), skills.get("ann", "books")] == ["", ""]
    assert logged(caplog) == []
    assert [skills.get("films", "ann"), skills.get("films", "ann")] == ["", ""]
    assert [warning[:29] for warning in logged(caplog)] == ["user and domain look swapped:"]


async def test_the_asyncio_producer_warns_too(caplog: pytest.LogCaptureFixture) -> None:
    events = AsyncEventProducer(f"127.0.0.1:{free_port()}")
    await events.interaction("ann", "films", {"item_id": "a"})
    events._events.end()

    assert len(logged(caplog)) == 1
