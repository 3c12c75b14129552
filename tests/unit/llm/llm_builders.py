"""Items, contrasts and clients for tests of the LLM."""

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from schemas import Contrast, ItemFacts
from streams.llm import CallRecord
from streams.llm.client import LlmClient
from tests.builders import facts
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
    async with asyncio.timeout(WAIT_SECONDS):
        while not done():  # noqa: ASYNC110 - nobody sets an event for it
            await asyncio.sleep(0.01)


def section(prompt: str, tag: str) -> list[str]:
    found = re.search(rf"^<{tag}>\n(.*?)\n</{tag}>$", prompt, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].split("\n")
