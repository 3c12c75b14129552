"""Operators accept any decoded record, and their results stay within bounds."""

import json
import time
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.admission import DAY_MS, is_applied, with_applied
from operators.attributes import MAX_FOLDED_CHARS, MAX_ID_CHARS, attribute_id, normalise
from operators.graph.items import add_touch, takers_of
from operators.language.words import keywords
from operators.prompts import as_data
from operators.tokens import count_tokens
from operators.unicode import nfkc
from schemas import AttributeKind, ItemMemory, ItemUpdate, Position, decode, encode
from streams.llm.replies import BadReply, read
from tests.golden import golden
from tests.unit.fuzz.fuzz_strategies import PIECES, changed, outcome, search, texts, values

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"why": {"type": "string", "maxLength": 40}, "best": {"type": "array", "items": {"type": "string"}}},
    "required": ["why"],
}


@st.composite
def valid(draw: st.DrawFn, model: type[Any], base: str) -> Any:
    example = golden(base)
    for _ in range(4):
        try:
            return model.model_validate_json(json.dumps(draw(changed(example))))
        except ValidationError:
            continue
    return model.model_validate_json(json.dumps(example))


def test_item_memories_stay_within_bounds_after_any_update() -> None:
    @given(valid(ItemUpdate, "item-touches"), valid(ItemMemory, "item-memories"))
    def check(update: ItemUpdate, memory: ItemMemory) -> None:
        assert decode(ItemMemory, encode(memory)) == memory
        for item_id, taker in takers_of(update):
            updated = add_touch(memory, update.domain, item_id, taker, now=NOW)
            if updated is None:
                continue
            assert max(len(each.others) for each in updated.takers) <= 12
            assert taker.at <= NOW or all(t.at <= NOW for t in updated.takers if t not in memory.takers)
            assert decode(ItemMemory, encode(updated)) == updated

    search(check)


def test_any_text_has_a_bounded_id_and_a_safe_prompt_line() -> None:
    @given(texts, st.integers(20, 400))
    def check(text: str, limit: int) -> None:
        assert len(normalise(text)) <= 2 * MAX_FOLDED_CHARS
        assert normalise(normalise(text)) == normalise(text) or len(text) > 120
        assert len(attribute_id(AttributeKind.PREFERENCE, "genre", text)) <= MAX_ID_CHARS
        line = as_data(text, limit)
        assert len(line) <= limit
        assert len(line.encode()) <= 2 * limit
        assert line.isprintable()
        assert not set(line) & set("<>[]{}|`")
        keywords(text)
        assert count_tokens(line) <= 2 * limit

    search(check)


def test_any_reply_is_an_answer_or_a_bad_reply() -> None:
    replies = st.one_of(texts, values.map(repr), st.builds("".join, st.lists(st.sampled_from(["{", "}", *PIECES]))))

    @given(replies)
    def check(reply: str) -> None:
        answer = outcome(lambda: read(reply, SCHEMA), BadReply)
        if isinstance(answer, BadReply):
            assert len(str(answer)) <= 200
        else:
            assert len(answer["why"]) <= 40

    search(check)


@given(st.lists(st.text(max_size=60), max_size=12).map(" ".join))
def test_nfkc_of_a_long_text_equals_that_of_python(text: str) -> None:
    assert nfkc(text, 100_000) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("piece", ["\ufdfa", "\u0301\u0316", "\u0f71\u0f74\u0f72", "漢"])
def test_nfkc_takes_linear_time(piece: str) -> None:
    # Python's own `normalize` takes 64 times as long for eight times most of these.

    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        best = 1e9
        for _ in range(7):
            begun = time.process_time()
            nfkc(text, 10**9)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(32_000) < 20 * seconds(4_000)


@given(st.lists(st.integers(0, DAY_MS), min_size=1, max_size=12))
def test_a_clock_that_goes_back_does_not_undo_the_fence(stamps: list[int]) -> None:
    records = [Position(topic="t", partition=0, offset=n, timestamp_ms=stamp) for n, stamp in enumerate(stamps)]
    applied: tuple[Position, ...] = ()
    for record in records:
        assert not is_applied(applied, record)
        applied = with_applied(applied, record)
    assert all(is_applied(applied, record) for record in records)


def test_a_timestamp_of_the_future_does_not_stay_in_the_fence() -> None:
    future, after = (Position(topic="t", partition=0, offset=n, timestamp_ms=ms) for n, ms in ((7, 2**60), (8, 1_000)))

    assert with_applied(with_applied((), future), after) == (after,)
    assert not is_applied((after,), Position(topic="t", partition=0, offset=0, timestamp_ms=2_000))
