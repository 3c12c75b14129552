"""Fixtures for unit tests: a fake model server and its client."""

from collections.abc import AsyncIterator

import pytest

from streams.llm.client import LlmClient
from tests.openai_server import OpenAiServer
from tests.unit.llm.llm_builders import client_of


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


@pytest.fixture
async def client(server: OpenAiServer) -> AsyncIterator[LlmClient]:
    made = client_of(server, attempts=2)
    yield made
    await made.aclose()
