"""Fixtures for unit tests: a fake model server and its client."""

from collections.abc import AsyncIterator

import pytest

from streams.llm.client import LlmClient
from tests.openai_server import OpenAiServer


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


@pytest.fixture
async def client(server: OpenAiServer) -> AsyncIterator[LlmClient]:
    made = LlmClient(
        base_url=server.base_url, api_key="", model="fake", timeout_seconds=2, attempts=2, max_retry_seconds=0.05
    )
    yield made
    await made.aclose()
