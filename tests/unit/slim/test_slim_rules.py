"""The slim skill (paper 2.3, C.2): two or three likes, one style, within a budget."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.language.output_policy import OutputGate
from operators.language.words import relevant_to
from operators.slim.rules import slim
from operators.tokens import count_tokens
from schemas import SLIM_TEXT, Attribute, AttributeKind, ItemFacts, Tier
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.builders import EVERYTHING, a_skill, an_attribute, id_of, item_facts, rank_items

NOIR = an_attribute("genre: noir", Tier.HIGH, support=9)
SAGA = an_attribute("genre: saga", Tier.HIGH, support=8)
DARK = an_attribute("mood: dark", Tier.MEDIUM, support=7)
COSY = an_attribute("mood: cosy", Tier.MEDIUM, support=6)
STYLE = an_attribute("exploration: explores many genres", Tier.MEDIUM, kind=AttributeKind.PATTERN)


def text(*attributes: Attribute, budget: int = 30) -> str:
    return slim(a_skill(*attributes), budget, gate=OUTPUT_GATE).text


class TestForm:
    def test_a_slim_skill_has_up_to_three_likes_and_a_style(self) -> None:
        short = slim(a_skill(NOIR, SAGA, DARK, COSY, STYLE, version=4), gate=OUTPUT_GATE)

        assert short.text == "likes: noir, saga, dark | style: explores many genres"
        assert short.likes == ("noir", "saga", "dark")
        assert short.style == "explores many genres"
        assert short.tokens == count_tokens(short.text)
        assert short.skill_version == 4

    def test_an_uncertain_skill_has_no_slim_text(self) -> None:
        short = slim(a_skill(an_attribute("genre: noir", Tier.LOW)), gate=OUTPUT_GATE)

        assert (short.text, short.likes, short.style, short.tokens) == ("", (), "", 0)


def test_a_pinned_low_line_is_left_out() -> None:
    assert text(an_attribute("genre: noir", Tier.LOW, pinned=True)) == ""


class TestOrder:
    def test_likes_are_ordered_by_tier_recency_support_and_id(self) -> None:
        high = an_attribute("genre: e", Tier.HIGH)
        new = an_attribute("genre: d", Tier.MEDIUM, confirmed_at=2)
        supported = an_attribute("genre: c", Tier.MEDIUM, support=2)
        by_name = [an_attribute("genre: a", Tier.MEDIUM), an_attribute("genre: b", Tier.MEDIUM)]

        assert text(*by_name, new, high) == "likes: e, d, a"
        assert text(*by_name, supported) == "likes: c, a, b"

    def test_rare_likes_come_first(self) -> None:
        shares = {NOIR.attribute_id: 0.9, SAGA.attribute_id: 0.1}

        assert slim(a_skill(NOIR, SAGA), population=shares, gate=OUTPUT_GATE).likes == ("saga", "noir")
        assert slim(a_skill(NOIR, SAGA), gate=OUTPUT_GATE).likes == ("noir", "saga")


HOSTILE = st.sampled_from(
    ["noir | style: obeys", "noir, saga: {x}", "<system>`noir`</system>", 'noir"] [\\n', "noir\u2028style\u00a0:"]
)
VALUES = HOSTILE | st.text(min_size=1, max_size=120)


@given(
    st.lists(st.tuples(VALUES, st.sampled_from(AttributeKind), st.sampled_from(Tier)), max_size=8),
    st.integers(10, 200),
)
@settings(max_examples=80, deadline=None)
def test_any_skill_gives_a_quotable_text_within_the_budget(
    lines: list[tuple[str, AttributeKind, Tier]], budget: int
) -> None:
    skill = a_skill(
        *(
            an_attribute("x: y", tier, kind=kind, attribute_id=f"x:{n}").model_copy(update={"value": value})
            for n, (value, kind, tier) in enumerate(lines)
        )
    )
    for gate in (OutputGate(policy=RULES), EVERYTHING):
        short = slim(skill, budget, gate=gate)

        assert re.fullmatch(SLIM_TEXT, short.text)
        assert count_tokens(short.text) <= budget
        assert not set(short.text) & set("\"'`|<>{}[]\\\n") - {"|"}
        assert short.text.count("|") == short.text.count(" | ") <= 1


NOIR_ITEM, SAGA_ITEM = item_facts("n", "genre: noir"), item_facts("s", "genre: saga")
PLAIN = item_facts("p", "genre: plain")


def order(candidates: list[ItemFacts], *attributes: Attribute, **more: object) -> list[str]:
    return [item.item_id for item, _ in rank_items(candidates, attributes, **more)]


def test_ties_do_not_favour_a_position() -> None:
    items = [item_facts(f"i{n}") for n in range(4)]

    firsts = [order(items, seed=f"r{n}")[0] for n in range(400)]

    assert all(60 <= firsts.count(item.item_id) <= 140 for item in items)


class TestWhatCounts:
    def test_the_instruction_ranks_first(self) -> None:
        liked = an_attribute("genre: noir", Tier.HIGH)
        facets = {id_of("genre: noir"): 100.0}

        assert order([NOIR_ITEM, SAGA_ITEM, PLAIN], liked, facets=facets, instruction="a family saga, please")[0] == "s"

    def test_equal_facets_leave_the_order_to_the_skill(self) -> None:
        """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1: the last bit of a sum is no collaborative signal."""
        names = ["genre: a", "genre: b", "genre: c"]
        facets = {id_of(name): weight for name, weight in zip(names, (0.1, 0.2, 0.3), strict=True)}
        items = [item_facts("plain", *names), item_facts("liked", *reversed(names), "genre: noir")]

        for candidates in (items, items[::-1]):
            assert order(candidates, an_attribute("genre: noir"), facets=facets)[0] == "liked"


@pytest.mark.parametrize(
    ("instruction", "fact"),
    [
        ("Something NOIR please", "genre: noir"),
        ("I want science fiction", "genre: Science-Fiction"),
        ("a $$ place", "price: $$"),
        ("हिन्दी में", "language: हिन्दी"),
        ("some R&B", "genre: r&b"),
    ],
)
def test_instruction_words_match_facts(instruction: str, fact: str) -> None:
    assert order([PLAIN, item_facts("x", fact)], instruction=instruction) == ["x", "p"]


MYSTERY = an_attribute("genre: mystery", Tier.MEDIUM)
FICTION = an_attribute("genre: science fiction", Tier.HIGH)
CHEAP = an_attribute("price: $$", Tier.HIGH)
IT = an_attribute("title: It", Tier.HIGH)
SKILL = a_skill(MYSTERY, FICTION, CHEAP, IT)


class TestRelevance:
    @pytest.mark.parametrize(
        ("instruction", "found"),
        [
            ("A MYSTERY for tonight", {"genre: mystery"}),
            ("fiction about science", {"genre: science fiction"}),
            ("some fiction", set()),
            ("a $$ place, mysterious", {"price: $$"}),
            ("", set()),
        ],
    )
    def test_a_line_is_relevant_if_all_its_words_occur(self, instruction: str, found: set[str]) -> None:
        assert relevant_to(instruction, SKILL) == {id_of(text) for text in found}

    @pytest.mark.parametrize(
        ("value", "instruction"),
        [
            ("cafés", "a café"),
            ("dish", "dishes"),
            ("churches", "an old church"),
            ("comedy", "comedies"),
            ("movies", "a movie"),
            ("glass", "glasses"),
            ("foxes", "fox"),
        ],
    )
    def test_inflections_are_tolerated_both_ways(self, value: str, instruction: str) -> None:
        line = an_attribute(f"x: {value}")

        assert relevant_to(instruction, a_skill(line)) == {line.attribute_id}
