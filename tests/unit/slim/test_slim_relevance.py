"""Task-conditioning without a model, and slim skills of other lengths than the paper's best."""

import pytest

from operators.slim import compose, lines_of, max_likes, relevant_to, slim, slimmed
from operators.tokens import count_tokens
from schemas import Kind, Tier
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import EVERYTHING, a_skill, an_attribute, id_of

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
            ("two mysteries", {"genre: mystery"}),
            ("fiction about science", {"genre: science fiction"}),
            ("science-fiction!", {"genre: science fiction"}),
            ("some fiction", set()),
            ("a $$ place, mysterious", {"price: $$"}),
            ("is it for me?", set()),
            ("", set()),
            ("?!", set()),
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

    def test_short_words_are_no_plurals(self) -> None:
        assert not relevant_to("a ga station", a_skill(an_attribute("x: gas")))

    def test_relevant_likes_come_first_and_low_ones_stay_in_the_skill(self) -> None:
        low = an_attribute("mood: dark", Tier.LOW)
        skill = a_skill(*SKILL.attributes, low)

        relevant = relevant_to("a dark mystery", skill)

        assert relevant == {MYSTERY.attribute_id, low.attribute_id}
        assert slim(skill, count_tokens, relevant=relevant, vouching=VOUCHING).likes[0] == "mystery"
        assert "dark" not in slim(skill, count_tokens, relevant=relevant, vouching=VOUCHING).text


class TestLength:
    LINES = tuple(an_attribute(f"genre: kind {n:02}", Tier.HIGH) for n in range(20))
    STYLE = an_attribute("exploration: explores many genres", kind=Kind.PATTERN)

    @pytest.mark.parametrize(("budget", "likes"), [(10, 2), (30, 3), (80, 6), (150, 12), (200, 16)])
    def test_longer_budgets_say_more_likes(self, budget: int, likes: int) -> None:
        short = slim(a_skill(*self.LINES, self.STYLE), count_tokens, budget, vouching=VOUCHING)

        said = short.text.removeprefix("likes: ").split(" | ")[0].split(", ")
        assert said == [f"kind {n:02}" for n in range(likes)]
        assert len(said) <= max_likes(budget)
        assert short.likes == tuple(said[:3])
        assert short.tokens == count_tokens(short.text) <= budget

    def test_the_style_is_in_every_length_but_the_shortest(self) -> None:
        texts = {
            budget: slim(a_skill(*self.LINES, self.STYLE), count_tokens, budget, vouching=VOUCHING)
            for budget in (30, 80, 150, 200)
        }

        assert all(short.text.endswith(" | style: explores many genres") for short in texts.values())

    def test_a_longer_text_gives_up_its_last_likes_for_the_style(self) -> None:
        lines = [an_attribute(f"genre: a kind that takes many tokens {n}", Tier.HIGH) for n in range(12)]

        short = slim(a_skill(*lines, self.STYLE), count_tokens, 80, vouching=EVERYTHING)

        assert short.style == "explores many genres"
        assert count_tokens(short.text) <= 80
        assert short.text.count(",") >= 3

    @pytest.mark.parametrize("budget", [30, 50, 79])
    def test_around_the_papers_best_length_three_likes_are_all(self, budget: int) -> None:
        short = slim(a_skill(*self.LINES, self.STYLE), count_tokens, budget, vouching=VOUCHING)

        assert short.text == compose(list(short.likes), short.style)
        assert len(short.likes) == 3


def test_a_surer_line_comes_before_a_rarer_one() -> None:
    skill = a_skill(
        *(an_attribute(f"genre: {name}", Tier.HIGH) for name in ("mystery", "fantasy", "romance")),
        *(an_attribute(f"author: {name}", Tier.MEDIUM) for name in ("Al Two", "Bo Three", "Jo One")),
    )
    shares = {id_of(f"genre: {name}"): 0.9 for name in ("mystery", "fantasy", "romance")}

    assert slim(skill, count_tokens, 30, shares, vouching=VOUCHING).text == "likes: fantasy, mystery, romance"


def test_the_lines_that_a_slim_skill_says_are_found_again_whatever_its_budget() -> None:
    lines = [an_attribute(f"genre: kind, {n}", Tier.HIGH) for n in range(9)]
    style = an_attribute("era: 1990s", Tier.HIGH, kind=Kind.CRITERION)
    skill = a_skill(*lines, style, an_attribute("era: 2000s", Tier.MEDIUM, kind=Kind.CRITERION))

    few = lines_of(skill, slimmed(skill, count_tokens, 30, vouching=VOUCHING))
    many = lines_of(skill, slimmed(skill, count_tokens, 200, vouching=VOUCHING))

    assert (len(few), few[-1]) == (4, style)
    assert many == [*lines, style]
    assert lines_of(a_skill(), slimmed(a_skill(), count_tokens, vouching=VOUCHING)) == []


def test_of_two_lines_with_one_phrase_the_one_that_was_chosen_is_found_again() -> None:
    """The text alone does not tell them apart."""
    common, rare = an_attribute("genre: noir", Tier.HIGH), an_attribute("mood: noir", Tier.HIGH)
    skill = a_skill(common, rare)

    found = slimmed(skill, count_tokens, 30, {common.attribute_id: 0.9, rare.attribute_id: 0.1}, vouching=VOUCHING)

    assert found.record.text == "likes: noir"
    assert lines_of(skill, found) == [rare]
