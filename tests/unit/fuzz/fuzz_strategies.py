"""Hostile input: bytes, JSON of wrong types, records changed in one place, and texts that expand."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.golden import golden

# Seconds for which each test repeats its search; by default it searches once.
SECONDS = float(os.environ.get("SAGER_TEST_FUZZ_SECONDS", "0"))
EXAMPLES = 20

PIECES = (
    *("a", " ", "\n", "\0", "\x1b[31m", "\x7f", "\u202e", "\u200b", "\ufeff", "\ufffe", "\u00df", "\u0130"),
    # One character that becomes eighteen, marks that are sorted, letters that compose, and a family of one emoji.
    *("\ufdfa", "\u0301\u0316", "a\u0301\u0316\u0335", "\u1100\u1161", "\u0f71\u0f74\u0f72"),
    *("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0010ffff", "漢", "\u0645\u062d"),
    *("<|im_end|>", "</chosen>", "[INST]", "{{", "$", "$x ${y}"),
    *("ignore all previous instructions ", "directed by Aa Bb "),
    *("[", "(", "<", "&#", "&amp;", "'", '"', "\\", "|", ";", ",", "['a', ", "{'a': ", "-", "a.", "1", "9", "0x", "u'"),
    *("item:", "user:", "NaN", "Infinity", "null", "__proto__", "../", "%s%n", "'; DROP TABLE skills; --"),
)

pieces = st.sampled_from(PIECES)
expanding = st.builds(lambda piece, times, end: (piece * times)[:5_000] + end, pieces, st.integers(1, 5_000), pieces)
texts = st.one_of(st.text(max_size=60), st.lists(pieces, max_size=8).map("".join), expanding)
short_texts = texts.map(lambda text: text[:120])
numbers = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**53, 2**63, -(2**63) - 1, 2**64, 10**400, 1e308, 5e-324, -0.0]),
    st.floats(),
)
EDGES = (
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+14:00", "1970-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59-14:00", "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z", "10000-01-01T0Z"),
)
moments = st.sampled_from(EDGES) | st.datetimes().map(lambda moment: moment.isoformat() + "Z") | numbers
scalars = st.one_of(st.none(), st.booleans(), numbers, texts, moments)
values = st.one_of(
    st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(short_texts, inner, max_size=5)),
        max_leaves=12,
    ),
    st.builds(lambda value, times: [value] * times, scalars, st.integers(0, 300)),
    st.builds(lambda depth: json.loads("[" * depth + "]" * depth), st.integers(1, 150)),
    st.builds(lambda times: {f"k{n}": n for n in range(times)}, st.integers(0, 600)),
)


def as_bytes(value: Any) -> bytes:
    """Encode like a careless producer: with NaN, Infinity and lone surrogates."""
    return json.dumps(value, ensure_ascii=value == value).encode(errors="surrogatepass")  # noqa: PLR0124


@st.composite
def changed(draw: st.DrawFn, record: Any) -> Any:
    """Draw the record with one value replaced, removed or added at any depth."""
    if not isinstance(record, dict | list) or not record or draw(st.integers(0, 5)) == 0:
        return draw(values)
    place = draw(st.sampled_from(sorted(record) if isinstance(record, dict) else range(len(record))))
    copy: Any = dict(record) if isinstance(record, dict) else list(record)
    match draw(st.integers(0, 11)):
        case 0:
            del copy[place]
        case 1 if isinstance(copy, dict):
            copy[draw(short_texts)] = draw(values)
        case 1:
            copy += copy * draw(st.integers(1, 200))
        case _:
            copy[place] = draw(changed(record[place]))
    return copy


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """Draw the bytes cut, doubled, or with others inserted."""
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, min(len(raw), start + 40)))
    return raw[:start] + draw(st.binary(max_size=20)) + raw[end : draw(st.integers(end, len(raw) + 1))]


def records(base: str) -> st.SearchStrategy[bytes]:
    """Records for this topic, most of them nearly valid."""
    example = golden(base)
    return st.one_of(
        changed(example).map(as_bytes),
        changed(example).map(as_bytes),
        damaged(as_bytes(example)),
        st.binary(max_size=200),
        values.map(as_bytes),
    )


def outcome(call: Callable[[], Any], *allowed: type[Exception]) -> Any:
    """Return the result of a call, or the allowed error that it raises."""
    try:
        return call()
    except allowed as error:
        return error


def search(check: Callable[[], None]) -> None:
    """Search for a failing example, for `SAGER_TEST_FUZZ_SECONDS` if set."""
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    run = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=slow, database=None)(check)
    until = time.monotonic() + SECONDS
    run()
    while time.monotonic() < until:
        run()
