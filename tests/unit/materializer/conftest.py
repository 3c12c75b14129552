"""A live file of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.analytics.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "live.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path, "sager.") as opened:
        yield opened
