"""Whatever an app sends, every parser answers, within bounds (DESIGN invariant 9)."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.attributes import fact_id
from operators.statinit import parsers, text
from schemas import MAX_FACTS, Candidate

KEYS = [
    *sorted({key for keys in text.KEYS.values() for key in keys}),
    *("attributes", "stars", "rating", "description", "Ambience.casual", "GoodForMeal.lunch"),
]
PIECES = """directed by Mina Sorel;a novel by Bo Lind;VHS VG+;Used: Good;['a', 'b|c'];{'casual': True};[[[;(;\\x00;u'4';
$$;2;1995-01-01;Ambience_casual;<b>;&amp;;&#0;;\ufb01ction;\u0130;\u01c4;\u202e;\u00a0;dark funny epic;|;,;';\"
"""
WORDS = st.sampled_from(PIECES.split(";"))
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(WORDS, max_size=12).map(" ".join),
    st.text(alphabet="[]{}()'\",:|\\ -u0truefalsN", max_size=120),
    st.builds(lambda piece, times: (piece * times)[:4_000], WORDS, st.integers(1, 900)),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.just(10**4_000),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.one_of(st.sampled_from([*KEYS, "name"]), st.text(max_size=20)), inner, max_size=4),
    ),
    max_leaves=12,
)
METADATA = st.dictionaries(
    st.one_of(st.sampled_from(KEYS), st.text(max_size=30), st.text(string.ascii_letters + " _-.", max_size=30)),
    VALUES,
    max_size=12,
)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    try:
        return Candidate(
            item_id="i1", title=draw(TEXTS)[:500], description=draw(TEXTS)[:4_000], metadata=draw(METADATA)
        )
    except ValueError:  # deeper than a candidate may be
        return Candidate(item_id="i1")


@pytest.mark.parametrize("parser", parsers.BUILT_IN)
@settings(max_examples=100, deadline=None)
@given(candidate=candidates())
def test_no_parser_ever_raises_or_leaves_its_bounds(parser: str, candidate: Candidate) -> None:
    parse = parsers.BUILT_IN[parser]

    facts = parse(candidate)

    assert parse(candidate) == facts
    assert len(facts) <= MAX_FACTS
    assert len({fact_id(fact) for fact in facts}) == len(facts)
    for fact in facts:
        assert 1 <= len(fact.value) <= text.MAX_LABEL
        assert fact.value == fact.value.strip()
        assert fact.value.isprintable()
