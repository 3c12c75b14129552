"""Contrasts, skills and clients, with only what a test cares about."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from operators.attributes import attribute_id
from schemas import Attribute, AttributeKind, AttributeSource, Contrast, Fact, ItemFacts, PolicySkill, Tier
from streams.llm import CallRecord
from streams.llm.client import LlmClient
from tests.openai_server import OpenAiServer
from tests.waiting import WAIT_SECONDS

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "why": {"type": "string", "maxLength": 40},
        "fits": {"type": "string", "enum": ["yes", "no"]},
        "best": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2},
    },
    "required": ["why", "fits", "best"],
    "additionalProperties": False,
}


def facts(*words: str) -> tuple[Fact, ...]:
    """`facts("genre: noir", ...)`."""
    pairs = (each.split(": ", 1) for each in words)
    return tuple(Fact(dimension=dimension, value=value) for dimension, value in pairs)


def attribute(
    words: str, tier: Tier = Tier.MEDIUM, confirmed_at: int = 0, kind: AttributeKind = AttributeKind.PREFERENCE
) -> Attribute:
    dimension, value = words.split(": ", 1)
    return Attribute(
        attribute_id=attribute_id(kind, dimension, value),
        kind=kind,
        dimension=dimension,
        value=value,
        tier=tier,
        source=AttributeSource.PRIOR,
        confirmed_at=confirmed_at,
    )


def skill(*attributes: Attribute) -> PolicySkill:
    return PolicySkill(event_id="s", occurred_at=NOW, user_id="u", domain="books", attributes=attributes)


def item(title: str, *words: str) -> ItemFacts:
    return ItemFacts(item_id="i", title=title, facts=facts(*words))


def contrast(chosen: ItemFacts, *unchosen: ItemFacts, instruction: str = "") -> Contrast:
    return Contrast(
        event_id="c",
        occurred_at=NOW,
        user_id="u",
        domain="books",
        ranking_id="r",
        instruction=instruction,
        chosen=chosen,
        chosen_rank=1,
        unchosen=unchosen,
    )


def client_of(server: OpenAiServer, calls: list[CallRecord] | None = None, **settings: Any) -> LlmClient:
    chosen: dict[str, Any] = {"timeout_seconds": 2.0, "attempts": 3, "max_retry_seconds": 0.1} | settings
    on_call = calls.append if calls is not None else None
    return LlmClient(base_url=server.base_url, api_key="sk-secret", model="fake", on_call=on_call, **chosen)


async def until(done: Callable[[], bool]) -> None:
    """Wait for something that happens in the same event loop."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not done():  # noqa: ASYNC110 - nobody sets an event for it
            await asyncio.sleep(0.01)
