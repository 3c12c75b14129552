"""Task-conditioning without a model, and slim skills of other lengths than the paper's best."""

import pytest

from operators.slim import extract_slim, relevant_to, selected_lines
from schemas import AttributeKind, Tier
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.builders import a_skill, an_attribute, id_of

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
    def test_a_line_is_relevant_if_all_its_words_are_named(self, instruction: str, found: set[str]) -> None:
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
    def test_plurals_are_tolerated_both_ways(self, value: str, instruction: str) -> None:
        line = an_attribute(f"x: {value}")

        assert relevant_to(instruction, a_skill(line)) == {line.attribute_id}


def test_the_lines_that_a_slim_skill_says_are_found_again_whatever_its_budget() -> None:
    lines = [an_attribute(f"genre: kind, {n}", Tier.HIGH) for n in range(9)]
    style = an_attribute("era: 1990s", Tier.HIGH, kind=AttributeKind.CRITERION)
    skill = a_skill(*lines, style, an_attribute("era: 2000s", Tier.MEDIUM, kind=AttributeKind.CRITERION))

    few = selected_lines(skill, extract_slim(skill, 30, gate=OUTPUT_GATE))
    many = selected_lines(skill, extract_slim(skill, 200, gate=OUTPUT_GATE))

    assert (len(few), few[-1]) == (4, style)
    assert many == [*lines, style]
    assert selected_lines(a_skill(), extract_slim(a_skill(), gate=OUTPUT_GATE)) == []
