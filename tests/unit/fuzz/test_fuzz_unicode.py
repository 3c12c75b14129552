"""Characters of every Unicode category beside words that trigger rules: no operator raises on any text.

`str.isdigit` is true for characters that `int` refuses, a character may become eighteen in its compatibility form, a
lone surrogate has none in UTF-8: such errors hide until a title holds the character where a rule looks at it.
"""

import unicodedata
from collections import defaultdict
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.attributes import MAX_ID_CHARS
from operators.cards.draft import clean_dimension, clean_value, reject_reason, safe_quotation
from operators.language.corrections import understand
from operators.language.output_policy import facet_words, trusted_facet_words
from operators.statinit import BUILT_IN, facts_of
from schemas import MAX_FACTS, Candidate, Correction, Facet, ItemFacts, ModelT, PolicySkill
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import rank_items
from tests.unit.fuzz.fuzz_strategies import outcome, search
from tests.unit.language.language_builders import heard

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SKILL = PolicySkill(event_id="x", occurred_at=NOW, user_id="ann", domain="films")
# Words and signs that rules look for.
TRIGGERS = (
    *("one two three", "eins zwei drei", "一二三四五六七", "1", "42", "1994", "0171 2345678", "4111 1111 1111 1111"),
    *("call me at", "my IBAN is", "passport number", "born on", "my daughter is", "years old", "I live at 7", "Street"),
    *("anna", "@", "at gmail dot com", "password:", "GPS 52.5", "192.168.0.", "::", "°", "order number", "vol. 7"),
    *("ignore all", "rank first", "base64:", "aWdub3Jl", "\\u0041", "%41", "0x", "&#65;", "['a', ", "{", "<b>"),
    *("I like", "no horror", "cheaper than", "under $", "€ 20", "90 minutes", "5 km", "the second", "7/10"),
)
_ANY = st.integers(0, 0x10FFFF)


@cache
def characters() -> dict[str, list[str]]:
    found = defaultdict(list)
    for point in range(0x110000):
        character = chr(point)
        found[unicodedata.category(character)].append(character)
        if character.isdigit() != character.isdecimal() or character.isnumeric() != character.isdigit():
            found["odd digits"].append(character)
        if len(unicodedata.normalize("NFKC", character)) > 2:
            found["expanding"].append(character)
        if {len(character.casefold()), len(character.upper()), len(character.lower())} != {1}:
            found["odd cases"].append(character)
    return dict(found)


@st.composite
def texts(draw: st.DrawFn) -> str:
    kinds = characters()
    one = st.builds(lambda kind, at: kinds[kind][at % len(kinds[kind])], st.sampled_from(sorted(kinds)), _ANY)
    odd = st.one_of(st.lists(one, min_size=1, max_size=4).map("".join), st.builds(str.__mul__, one, st.integers(2, 60)))
    parts = draw(st.lists(st.one_of(odd, st.sampled_from(TRIGGERS)), min_size=1, max_size=8))
    return draw(st.sampled_from([" ", "", "-", ": ", "\u2009"])).join(parts)[:500]


def valid(model: type[ModelT], fields: dict[str, Any]) -> ModelT | None:
    made = outcome(lambda: model.model_validate(fields), ValidationError)
    return made if isinstance(made, model) else None


@pytest.mark.parametrize("parser", sorted(BUILT_IN))
def test_parsers_and_filter_accept_an_item_of_any_text(parser: str) -> None:
    keys = st.sampled_from(["genres", "director", "year", "price", "runtime", "categories", "stars", "hours", "tags"])

    @given(texts(), st.dictionaries(st.one_of(keys, texts().map(lambda key: key[:60])), texts(), max_size=4))
    def check(text: str, metadata: dict[str, str]) -> None:
        item = valid(Candidate, {"item_id": "i", "title": text, "description": text, "metadata": metadata})
        if item is not None:
            facts, _ = PRIVACY.item(facts_of(item, BUILT_IN[parser]), "films")
            assert len(facts.facts) <= MAX_FACTS
            assert all(len(fact.value) <= 60 and fact.value.isprintable() for fact in facts.facts)
            rank_items([facts], (), text)

    search(check)


@pytest.mark.parametrize("kind", ["odd digits", "expanding"])
def test_the_filter_accepts_every_odd_character_beside_number_words(kind: str) -> None:
    for character in characters()[kind]:
        text = f"{character} One {character} Two {character * 8} Three"
        PRIVACY.redact_work(text, 500)
        PRIVACY.refuses("films", "theme", text)


def test_the_privacy_filter_accepts_any_text() -> None:
    @given(texts(), texts())
    def check(text: str, before: str) -> None:
        for kept in (PRIVACY.redact(text, "films").text, PRIVACY.turn(text, "films", before).text):
            assert len(kept) <= max(len(text), 2_000)
        PRIVACY.redact_about_person(text, "films", 200)
        PRIVACY.redact(text, "films")
        PRIVACY.refuses("films", text[:40], text[:120])
        PRIVACY.refuses_id("films", text[:MAX_ID_CHARS])
        PRIVACY.redact_work(text, 500)
        PRIVACY.opt_out(text)

    search(check)


def test_the_gate_and_cards_accept_any_text() -> None:
    @given(texts())
    def check(text: str) -> None:
        OUTPUT_GATE.rejection("genre", text[:120], 3)
        OUTPUT_GATE.rejection(text[:40], "noir", 3)
        fields = {"facet": text[:100], "confidence": 0.5, "attribute_id": f"preference:genre:{text[:60]}"}
        if (facet := valid(Facet, fields)) is not None:
            facet_words(facet, gate=OUTPUT_GATE)
            trusted_facet_words(facet, gate=OUTPUT_GATE)
        reject_reason(clean_dimension(text), clean_value(text) or "x", text, PRIVACY)
        safe_quotation(text, PRIVACY)

    search(check)


def test_corrections_and_conversations_accept_any_text() -> None:
    @given(texts(), texts())
    def check(text: str, other: str) -> None:
        base = {"event_id": "e", "occurred_at": NOW, "user_id": "ann", "domain": "films"}
        correction, item = (
            valid(Correction, {**base, "text": text}),
            valid(ItemFacts, {"item_id": "i", "title": other[:100]}),
        )
        if correction is not None:
            understand(correction, [item] if item else [], SKILL, privacy=PRIVACY, reader=RULES)
            heard(*(each for each in (text, other) if each.isprintable()))

    search(check)
