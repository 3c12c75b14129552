"""What an app tells of conversations: turns, and commands on cards."""

import pytest
from pydantic import ValidationError

from sager_client import AsyncEventProducer, EventProducer
from streams.local.broker import free_port
from tests.worlds import slate


@pytest.fixture
def events():
    producer = EventProducer(f"127.0.0.1:{free_port()}")
    yield producer
    producer.end()


@pytest.mark.parametrize(("user", "domain"), [("bob", None), ("ann", "books")])
def test_a_turn_is_not_sent_about_another_persons_list(events: EventProducer, user: str, domain: str | None) -> None:
    ranking = events.ranking("ann", "films", slate(1))

    with pytest.raises(TypeError, match="the ranking says what was shown to whom"):
        events.utterance(user, "chat-7", 0, "no horror", ranking=ranking, domain=domain)


def test_a_turn_without_words_is_refused_unless_it_ends_the_conversation(events: EventProducer) -> None:
    assert events.utterance("ann", "chat-7", 4, ends=True).ends
    with pytest.raises(ValidationError, match="needs text, unless it ends the conversation"):
        events.utterance("ann", "chat-7", 4, "  ")
    with pytest.raises(ValueError, match="'narrator' is not a valid Role"):
        events.utterance("ann", "chat-7", 4, "Once upon a time", role="narrator")


async def test_all_of_it_is_awaited_too() -> None:
    events = AsyncEventProducer(f"127.0.0.1:{free_port()}")

    sent = await events.utterance("ann", "chat-7", 0, "I'm vegetarian.")

    assert type(sent).TOPIC == "utterances"
    assert events.pending == 1
    events._events.end()
