"""What the tests of the worker's glue share: a deployment on a log in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fake_log import FakeDeployment, settings_in


@pytest_asyncio.fixture
async def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeDeployment]:
    running = FakeDeployment(settings_in(tmp_path), monkeypatch)
    yield running
    await running.close()
