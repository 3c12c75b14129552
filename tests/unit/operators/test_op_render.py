"""A skill as people read it, and the strategy that follows from it (paper 2.3, App. E)."""

import pytest

from operators.render import characters, line_of, strategy_of
from schemas import Kind, Tier
from tests.builders import a_skill, an_attribute, render


def test_skill_reads_section_by_section_strongest_first() -> None:
    lines = [
        an_attribute("genre: saga", Tier.LOW),
        an_attribute("era: 1990s", Tier.MEDIUM, kind=Kind.CRITERION),
        an_attribute("genre: noir", Tier.HIGH, pinned=True),
        an_attribute("exploration: explores many genres", kind=Kind.PATTERN),
    ]

    strategy = strategy_of(lines)
    text = render(a_skill(*lines).model_copy(update={"strategy": strategy}))

    assert characters(lines, strategy) == len(text)
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
def test_value_is_always_one_line(value: str) -> None:
    assert line_of(an_attribute(f"genre: {value}")).startswith("- two ")
    assert len(line_of(an_attribute(f"genre: {value}")).splitlines()) == 1


class TestStrategy:
    def test_only_what_is_sure_is_a_must(self) -> None:
        low, medium = an_attribute("genre: noir", Tier.LOW), an_attribute("genre: saga", Tier.MEDIUM)

        assert strategy_of([low, medium]).must_include == ("saga",)
