"""Warnings of the client about valid events that teach nothing."""

import pytest

from sager_client import EventProducer
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
