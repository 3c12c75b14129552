"""Quick forms say the same as the plain ones that they stand for; what a choice calls stays few."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.base import (
    MAX_METADATA_CHARS,
    MAX_METADATA_DEPTH,
    MAX_METADATA_INT,
    MAX_METADATA_NODES,
    MIN_METADATA_INT,
    Metadata,
)
from tests.builders import NOW

within = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=20,
)
METADATA: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)


def is_bounded(metadata: dict[str, Any]) -> bool:
    """One value after the other: at most so many, with so many characters, so deep, and finite numbers of 64 bits."""
    nodes, chars = 1, 0
    waiting: list[tuple[Any, int]] = [(metadata, 0)]
    while waiting:
        value, depth = waiting.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        nodes += len(inner)
        chars += len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, dict) else 0
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if isinstance(value, int) and not MIN_METADATA_INT <= value <= MAX_METADATA_INT:
            return False
        if nodes > MAX_METADATA_NODES or chars > MAX_METADATA_CHARS or depth > MAX_METADATA_DEPTH:
            return False
        waiting += [(part, depth + 1) for part in inner]
    return True


@given(st.dictionaries(st.text(max_size=4), within, max_size=5), st.integers(0, 8), st.integers(1, 3_000))
@example({}, 4, 1)
@example({}, 5, 1)
@example({"a": "x" * (MAX_METADATA_CHARS - 9)}, 0, 1)
@example({"a": "x" * (MAX_METADATA_CHARS - 8)}, 0, 1)
@example({"a": MAX_METADATA_INT}, 0, 1)
@example({"a": MAX_METADATA_INT + 1}, 0, 1)
@example({"a": MIN_METADATA_INT - 1}, 0, 1)
@example({"a": math.inf}, 0, 1)
@example({"a": math.nan}, 0, 1)
def test_metadata_is_bounded_as_value_by_value(inner: dict[str, Any], depth: int, width: int) -> None:
    metadata: Any = inner
    for _ in range(depth):
        metadata = [metadata]
    whole = {"depth": metadata, "wid": [1] * width}

    try:
        METADATA.validate_python(whole)
        taken = True
    except ValidationError:
        taken = False

    assert taken is is_bounded(whole)


@pytest.mark.parametrize("bad", [{"a": b"bytes"}, {"a": {1: 2}}, {"a": [NOW]}, {"a": (1,)}])
def test_metadata_takes_nothing_but_json(bad: Any) -> None:
    with pytest.raises(ValidationError):
        METADATA.validate_python(bad)
