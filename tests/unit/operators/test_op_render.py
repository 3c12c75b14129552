"""A skill as people read it, and the strategy that follows from it (paper 2.3, App. E)."""

import pytest

from operators.render import clip, line_of, render, render_lines, strategy_of
from schemas import Kind, Strategy, Tier
from tests.builders import USER, a_skill, an_attribute


def test_skill_reads_section_by_section_strongest_first() -> None:
    lines = [
        an_attribute("genre: saga", Tier.LOW),
        an_attribute("era: 1990s", Tier.MEDIUM, kind=Kind.CRITERION),
        an_attribute("genre: noir", Tier.HIGH, pinned=True),
        an_attribute("exploration: explores many genres", kind=Kind.PATTERN),
    ]

    text = render(a_skill(*lines).model_copy(update={"strategy": strategy_of(lines)}))

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


def test_empty_skill_is_empty_text() -> None:
    assert render(a_skill()) == ""


def test_user_is_not_named() -> None:
    assert USER not in render(a_skill(an_attribute("genre: noir")))


def test_within_a_tier_the_newest_then_the_best_supported_come_first() -> None:
    lines = [
        an_attribute("genre: a"),
        an_attribute("genre: b", support=5),
        an_attribute("genre: c", confirmed_at=1),
    ]

    text = render_lines(lines, Strategy())

    assert [line[2] for line in text.splitlines()[1:]] == ["c", "b", "a"]


@pytest.mark.parametrize("value", ["two\u2028lines", "two\u00a0 words", "  two   words "])
def test_value_is_always_one_line(value: str) -> None:
    assert line_of(an_attribute(f"genre: {value}")).startswith("- two ")
    assert len(line_of(an_attribute(f"genre: {value}")).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "most", "cut"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a bcd", 3, "a…"), ("", 3, "")]
)
def test_clip(text: str, most: int, cut: str) -> None:
    assert clip(text, most) == cut


class TestStrategy:
    def test_only_what_is_sure_is_a_must(self) -> None:
        low, medium = an_attribute("genre: noir", Tier.LOW), an_attribute("genre: saga", Tier.MEDIUM)

        assert strategy_of([low, medium]).must_include == ("saga",)

    def test_three_likes_at_most_and_the_fourth_breaks_ties(self) -> None:
        likes = [an_attribute(f"genre: {c}", support=9 - n) for n, c in enumerate("abcd")]

        assert strategy_of(likes) == Strategy(must_include=("a", "b", "c"), tie_breaker="d")

    def test_criterion_breaks_ties_before_any_like(self) -> None:
        likes = [an_attribute(f"genre: {c}") for c in "abcd"]
        criterion = an_attribute("era: 1990s", kind=Kind.CRITERION)

        assert strategy_of([*likes, criterion]).tie_breaker == "1990s"
