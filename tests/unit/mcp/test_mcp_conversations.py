"""A card and a conversation over MCP: what a model is told, and what is recorded of a turn."""

from collections.abc import Iterator

import pytest

from schemas import Utterance, decode
from tests.unit.http.http_world import card_of, follow, talks
from tests.unit.http.test_http_events import Kafka
from tests.unit.mcp.mcp_world import World, a_world, over_stdio


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as served:
        follow(served.served.api.cache, card_of(talks()))
        kafka = Kafka()
        served.served.api.sender = kafka  # type: ignore[assignment]
        served.kafka = kafka  # type: ignore[attr-defined]
        yield served


def said(result) -> str:
    return "".join(each.text for each in result.content)


async def test_a_card_is_read_for_a_request_without_anybodys_own_words(world: World) -> None:
    ann = world.tokens.make("read-slim", user="ann")

    async with over_stdio(world.url, ann) as client:
        card = await client.call_tool("read_card", {"request": "dinner"})
        little = await client.call_tool("read_card", {"budget_tokens": 1})
        of_bob = await client.call_tool("read_card", {"user": "bob"})

    assert card.structured_content["known"]
    assert "does not like coriander" in card.structured_content["text"]
    assert "instruction" in card.structured_content["note"]
    assert "I can't stand" not in said(card)
    assert (little.structured_content["known"], little.structured_content["text"]) == (False, "")
    assert of_bob.is_error
    assert "lacks the scope" in said(of_bob)


async def test_each_turn_is_recorded_once(world: World) -> None:
    ann = world.tokens.make("produce", user="ann")
    world.kafka.sent.clear()  # type: ignore[attr-defined]

    async with over_stdio(world.url, ann) as client:
        turn = {"conversation": "chat-7", "turn": 0, "text": "I'm vegetarian."}
        first = await client.call_tool("record_utterance", turn)
        again = await client.call_tool("record_utterance", turn)
        mine = await client.call_tool("record_utterance", {**turn, "turn": 1, "role": "assistant", "text": "Noted."})
        empty = await client.call_tool("record_utterance", {**turn, "turn": 2, "text": " "})
        last = await client.call_tool("record_utterance", {"conversation": "chat-7", "turn": 2, "ends": True})

    sent = [decode(Utterance, each.value) for each in world.kafka.sent]  # type: ignore[attr-defined]
    assert first.structured_content["event_id"] == again.structured_content["event_id"] == sent[0].event_id
    assert [(each.turn, each.role.value, each.text, each.ends) for each in sent] == [
        (0, "user", "I'm vegetarian.", False),
        (0, "user", "I'm vegetarian.", False),
        (1, "assistant", "Noted.", False),
        (2, "user", "", True),
    ]
    assert not mine.is_error
    assert not last.is_error
    assert empty.is_error
    assert "refused" in said(empty)
