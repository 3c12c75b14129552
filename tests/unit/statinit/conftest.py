from collections.abc import Callable
from typing import Any

import pytest

from operators.statinit import Parser
from schemas import Candidate

Read = Callable[..., dict[str, list[str]]]


@pytest.fixture
def read() -> Read:
    def read_item(parse: Parser, title: str = "", description: str = "", /, **metadata: Any) -> dict[str, list[str]]:
        candidate = Candidate(item_id="i1", title=title, description=description, metadata=metadata)
        found: dict[str, list[str]] = {}
        for fact in parse(candidate):
            found.setdefault(fact.dimension, []).append(fact.value)
        return found

    return read_item
