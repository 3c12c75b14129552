"""A live file of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.analytics.store import DuckDBStore
from tests.shared_files import empty_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "live.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[DuckDBStore]:
    with empty_store(path) as opened:
        yield opened
