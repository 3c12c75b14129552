"""A live file of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.analytics.store import DuckDBStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "live.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[DuckDBStore]:
    with DuckDBStore(path, "sager.") as opened:
        yield opened
