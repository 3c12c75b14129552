"""Items, contrasts and clients for tests of the LLM."""

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from schemas import Contrast, ItemFacts
from streams.llm.breaker import CircuitBreaker
from streams.llm.calls import CallRecord
from streams.llm.client import LlmClient
from streams.settings import Settings
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


def client_of(
    server: OpenAiServer,
    calls: list[CallRecord] | None = None,
    breaker: CircuitBreaker | None = None,
    **settings: Any,
) -> LlmClient:
    """Return a client of this endpoint; `settings` are those named `llm_*`."""
    more = {f"llm_{name}": value for name, value in settings.items()}
    quick = {"llm_timeout_seconds": 2.0, "llm_retry_seconds": 0.1, "llm_model": "fake", "llm_api_key": "sk-secret"}
    chosen = Settings(**quick | {"llm_base_url": server.base_url} | more)
    return LlmClient(chosen, on_call=None if calls is None else calls.append, breaker=breaker)


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not done():  # noqa: ASYNC110 - nobody sets an event for it
            await asyncio.sleep(0.01)


def section(prompt: str, tag: str) -> list[str]:
    found = re.search(rf"^<{tag}>\n(.*?)\n</{tag}>$", prompt, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].split("\n")
