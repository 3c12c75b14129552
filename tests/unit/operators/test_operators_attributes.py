"""Attribute identity (DESIGN 6, Merge): a normalised id, never free text."""

import bpe_openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from operators import contrast as joining
from operators.attributes import attribute_id, fact_id, from_fact
from operators.language.privacy import Privacy, read_item
from operators.learning.document import document_length, format_line, strategy_of
from operators.statinit import BUILT_IN
from operators.tokens import count_tokens
from schemas import Attribute, AttributeKind, AttributeSource, Candidate, Fact, ItemFacts, Ranking, Tier, decode, encode
from schemas.base import AttributeId
from streams.policies import DEFAULT_PRIVACY
from tests.builders import (
    DOMAIN,
    a_candidate,
    a_fact,
    a_position,
    a_ranking,
    a_selection,
    a_skill,
    an_attribute,
    open_rankings,
    render,
)

LABELS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=120)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Science Fiction", "science-fiction"),
        ("  noir  ", "NOIR"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("ﬁction", "fiction"),
        ("Rock 'n' Roll", "rock n roll"),
        ("\uff11\uff19\uff19\uff10s", "1990s"),
    ],
)
def test_spellings_of_one_attribute_share_an_id(one: str, other: str) -> None:
    assert attribute_id(AttributeKind.PREFERENCE, "genre", one) == attribute_id(
        AttributeKind.PREFERENCE, "genre", other
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("noir", "noire"), ("€", "€€"), ("C", "C#"), ("की", "का"), ("🍕", "🍣"), ("ﷺ" * 119 + "a", "ﷺ" * 119 + "b")],
)
def test_different_values_have_different_ids(one: str, other: str) -> None:
    assert attribute_id(AttributeKind.PREFERENCE, "genre", one) != attribute_id(
        AttributeKind.PREFERENCE, "genre", other
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LABELS)
def test_any_value_has_a_bounded_stable_id(value: str) -> None:
    name = attribute_id(AttributeKind.PREFERENCE, "genre", value)

    TypeAdapter(AttributeId).validate_python(name)
    assert name != "preference:genre:"
    assert name == fact_id(a_fact(f"genre: {value}"))
    attribute = from_fact(a_fact(f"genre: {value}"), Tier.LOW, AttributeSource.PRIOR)
    assert decode(Attribute, encode(attribute)) == attribute


def test_a_document_lists_sections_strongest_first() -> None:
    lines = [
        an_attribute("genre: saga", Tier.LOW),
        an_attribute("era: 1990s", Tier.MEDIUM, kind=AttributeKind.CRITERION),
        an_attribute("genre: noir", Tier.HIGH, pinned=True),
        an_attribute("exploration: explores many genres", kind=AttributeKind.PATTERN),
    ]

    strategy = strategy_of(lines)
    text = render(a_skill(*lines).model_copy(update={"strategy": strategy}))

    assert document_length(lines, strategy) == len(text)
    assert text == (
        "## Core preferences\n"
        "- noir (genre, high, pinned)\n"
        "- saga (genre, low)\n"
        "## Behavioral patterns\n"
        "- explores many genres (exploration, medium)\n"
        "## Ranking criteria\n"
        "- 1990s (era, medium)\n"
        "## Strategy\n"
        "- must include: noir\n"
        "- tie breaker: 1990s"
    )


@pytest.mark.parametrize("value", ["two\u2028lines", "two\u00a0 words", "  two   words "])
def test_a_value_is_always_one_line(value: str) -> None:
    assert format_line(an_attribute(f"genre: {value}")).startswith("- two ")
    assert len(format_line(an_attribute(f"genre: {value}")).splitlines()) == 1


def test_only_confident_likes_must_be_included() -> None:
    low, medium = an_attribute("genre: noir", Tier.LOW), an_attribute("genre: saga", Tier.MEDIUM)

    assert strategy_of([low, medium]).must_include == ("saga",)


ENCODING = bpe_openai.get_encoding("o200k_base")


@given(st.text(st.characters(), max_size=200))
def test_token_counts_equal_the_tokenizer_package(text: str) -> None:
    assert count_tokens(text) == len(ENCODING.encode_ordinary(text))


def test_control_tokens_are_counted_as_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


CIRCLED = "❶ One ❷ Two ❸ Three"


def raising(candidate: Candidate) -> tuple[Fact, ...]:
    """A plug-in's parser that fails on one item and quotes it."""
    if candidate.item_id == "bad":
        raise RecursionError(candidate.title)
    return (Fact(dimension="genre", value="noir"),)


def read(item_id: str) -> ItemFacts:
    return read_item(Candidate(item_id=item_id, title=f"Call {CIRCLED}"), DOMAIN, raising, DEFAULT_PRIVACY).facts


def joined(taken: str | None, *others: str, shown: tuple[str, ...] = ("a", "bad", "b")) -> joining.ContrastEffects:
    ranking = a_ranking("r1", shown)
    opened = joining.join_ranking(
        open_rankings(), ranking, lambda each: read(each.item_id), a_position(0, Ranking.TOPIC)
    )
    selection = a_selection("r1", item_id=taken, others=others, none_taken=taken is None)
    return joining.join_selection(opened.state, selection, a_position(1, "selections"))


def test_a_failing_parser_makes_an_item_unreadable_without_quoting_it() -> None:
    found = read_item(Candidate(item_id="bad", title=CIRCLED), DOMAIN, raising, DEFAULT_PRIVACY)

    assert found.facts == ItemFacts(item_id="bad", unreadable=True)
    assert dict(found.found) == {"unreadable": 1}
    assert found.failure.startswith("RecursionError in test_operators_attributes.py:")
    assert CIRCLED not in found.failure


def test_a_failing_filter_makes_an_item_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Privacy, "item", lambda *_: int(CIRCLED))

    found = read_item(a_candidate("i", genres=["Noir"]), DOMAIN, BUILT_IN["generic"], DEFAULT_PRIVACY)

    assert found.facts.unreadable


def test_an_unreadable_item_is_left_out_of_a_contrast() -> None:
    step = joined("a")

    assert step.contrast is not None
    assert (step.contrast.chosen.item_id, [item.item_id for item in step.contrast.unchosen]) == ("a", ["b"])
    assert b"unreadable" not in encode(step.contrast)


@pytest.mark.parametrize(("taken", "shown"), [("bad", ("a", "bad", "b")), (None, ("bad",))])
def test_a_choice_of_unreadable_items_makes_no_contrast(taken: str | None, shown: tuple[str, ...]) -> None:
    step = joined(taken, shown=shown)

    assert (step.outcome, step.contrast, step.abstention) == (joining.ContrastOutcome.UNREADABLE, None, None)
    assert (step.state.rankings, step.refused) == ((), ())
