"""Approvals, rejections and lists left as a whole teach what a person decides."""

import random
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.attributes import ranked_lines
from operators.contrast import with_usual
from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.fit.acceptance import KnownFacts
from operators.learning.feedback import resolve_abstention
from operators.learning.fold import initial_skill, merge
from operators.learning.lesson import prediction_of
from operators.learning.none_taken import NOTHING, as_choice
from operators.learning.number_lines import number_line_id
from operators.learning.outcomes import outcome_of
from operators.learning.tradeoffs import personal_weights
from operators.learning.update import resolve_choice
from operators.weights import RankWeights, apply_outcome, initial_weights, rank_weights
from schemas import ONE, Abstention, Contrast, Fact, ItemFacts, PolicySkill, Tier
from tests.builders import NOW, a_contrast

USUAL = {"price": (50.0, 200.0)}
COLOURS = ("red", "green", "blue", "grey")


def an_offer(rng: random.Random, least: int = 20) -> ItemFacts:
    colour = Fact(dimension="colour", value=rng.choice(COLOURS))
    return ItemFacts(item_id=f"o{rng.random()}", facts=(colour,), measures={"price": rng.randint(least, 80)})


def approved(item: ItemFacts, number: int) -> Contrast:
    offered = a_contrast(["x: y"], event_id=f"c{number}").model_copy(update={"chosen": item, "unchosen": ()})
    answer = with_usual(offered, USUAL)
    assert isinstance(answer, Contrast)
    return answer


def left(items: tuple[ItemFacts, ...], number: int) -> Abstention:
    offered = Abstention(
        event_id=f"a{number}", occurred_at=NOW, user_id="ann", domain="movietv", ranking_id=f"r{number}", shown=items
    )
    answer = with_usual(offered, USUAL)
    assert isinstance(answer, Abstention)
    return answer


def played(
    approves: Callable[[random.Random, ItemFacts], bool], offers: int, seed: int = 1, least: int = 20
) -> PolicySkill:
    rng, skill = random.Random(seed), initial_skill("ann", "movietv", (), a_contrast())
    for number in range(offers):
        item = an_offer(rng, least)
        if approves(rng, item):
            diff = resolve_choice(skill, ValidatedProposal(Proposal()), approved(item, number))
        else:
            diff = resolve_abstention(skill, left((item,), number))
        skill = merge(skill, diff)
    return skill


def chance(skill: PolicySkill, price: float) -> float:
    item = ItemFacts(item_id="next", measures={"price": price})
    taken, none = prediction_of(skill, as_choice(approved(item, 1_000))).chances
    return taken / (taken + none)


def test_a_person_who_approves_cheap_offers_gets_a_line_and_a_prediction() -> None:
    skill = played(lambda _, item: item.measures["price"] < 50, 40)
    assert chance(skill, 25) > 0.75
    assert chance(skill, 75) < 0.25
    [line] = [line for line in skill.attributes if line.attribute_id == number_line_id("price", False)]
    assert line.tier >= Tier.MEDIUM
    assert not any(NOTHING in line.attribute_id for line in skill.attributes)


def test_an_item_near_the_usual_numbers_teaches_little() -> None:
    skill, pulls = initial_skill("ann", "movietv", (), a_contrast()), []
    for price in (51.0, 80.0):
        item = ItemFacts(item_id="a", measures={"price": price})
        rejected, taken = resolve_abstention(skill, left((item,), 1)), approved(item, 2)
        for diff in (rejected, resolve_choice(skill, ValidatedProposal(Proposal()), taken)):
            assert diff.count_delta is not None
            assert diff.count_delta.numbers is not None
            pulls.append(diff.count_delta.numbers.pulls["price"])

    assert pulls[0] == -pulls[1]
    assert pulls[2] == -pulls[3]
    assert 0 < 9 * pulls[1] < pulls[3]


def test_a_person_who_approves_one_colour_is_known_by_it() -> None:
    skill = played(lambda _, item: item.facts[0].value == "red", 80)
    assert [line.value for line in skill.attributes if line.tier >= Tier.MEDIUM] == ["red"]


@pytest.mark.parametrize(("least", "most"), [(20, 2), (60, 6)])
def test_approvals_by_chance_prove_nothing(least: int, most: int) -> None:
    people = [played(lambda rng, _: rng.random() < 0.8, 30, seed, least) for seed in range(40)]
    medium = sum(line.tier >= Tier.MEDIUM for skill in people for line in skill.attributes)
    assert medium <= most
    # Offers that are all dear, and mostly approved, rank dear items first in no list.
    for skill in people:
        one, both = (personal_weights(names, {}, skill.numbers)["price"] for names in (["price"], ["price", NOTHING]))
        assert one == pytest.approx(both)


def test_lists_of_dear_items_that_are_left_by_chance_prove_nothing() -> None:
    medium = 0
    for seed in range(20):
        rng, skill = random.Random(seed), initial_skill("ann", "movietv", (), a_contrast())
        for number in range(20):
            items = (an_offer(rng, 60), an_offer(rng, 60), an_offer(rng, 60))
            if rng.random() < 0.5:
                diff = resolve_abstention(skill, left(items, number))
            else:
                taken = {"chosen": items[0], "unchosen": items[:0:-1]}
                diff = resolve_choice(
                    skill, ValidatedProposal(Proposal()), approved(items[0], number).model_copy(update=taken)
                )
            skill = merge(skill, diff)
        medium += sum(line.tier >= Tier.MEDIUM for line in skill.attributes)
    assert medium <= 2


def test_a_longer_list_left_as_a_whole_is_worse_than_usual() -> None:
    skill = initial_skill("ann", "movietv", (), a_contrast())
    dear = tuple(ItemFacts(item_id=f"d{n}", measures={"price": 90.0 + n}) for n in range(3))
    diff = resolve_abstention(skill, left(dear, 1))
    assert diff.count_delta.numbers is not None
    assert diff.count_delta.numbers.pulls["price"] < 0
    assert NOTHING not in diff.count_delta.numbers.pulls
    assert not diff.is_contrast


def test_the_domain_learns_its_means_from_lists_of_one_and_nothing_from_longer_ones() -> None:
    skill, weights = initial_skill("ann", "movietv", (), a_contrast()), RankWeights(secret=b"s")
    item = ItemFacts(item_id="a", measures={"price": 30.0})
    outcome = outcome_of(left((item,), 1).model_copy(update={"usual": None}), skill, weights, 1, 0)
    assert outcome is not None
    assert outcome.moments == {"price": (0, 30 * ONE)}
    assert outcome.numbers[NOTHING][0] > 0
    again = outcome_of(approved(item, 2), skill, RankWeights(usual=USUAL, secret=b"s"), 2, 0)
    assert again is not None
    assert again.moments == {"price": (100 * ONE, 30 * ONE)}
    assert again.numbers[NOTHING][0] < 0
    assert outcome_of(left((item, item.model_copy(update={"item_id": "b"})), 3), skill, weights, 3, 0) is None


def test_the_usual_year_is_that_of_the_items() -> None:
    skill = initial_skill("ann", "movietv", (), a_contrast())
    weights = initial_weights("movietv", a_contrast())
    for number in range(400):
        film = ItemFacts(item_id=f"f{number}", measures={"year": 1980.0 + number % 11})
        outcome = outcome_of(approved(film, number), skill, RankWeights(secret=b"s"), 1, 0)
        assert outcome is not None
        assert outcome.moments["year"][1] in {1900 * ONE, 2000 * ONE}
        weights = apply_outcome(weights, outcome)
    mean, _ = rank_weights(weights).usual["year"]
    assert abs(mean - 1985) < 6


@given(st.floats(0, 1e9))
@example(5e-324)
def test_the_mean_of_one_item_has_two_digits(price: float) -> None:
    item = ItemFacts(item_id="a", measures={"price": price})
    outcome = outcome_of(approved(item, 1), initial_skill("ann", "movietv", (), a_contrast()), RankWeights(), 1, 0)
    assert outcome is not None
    assert outcome.moments["price"][1] / ONE == pytest.approx(price, rel=0.1, abs=1 / ONE)


def test_a_value_that_was_only_left_has_no_support() -> None:
    contrast = a_contrast(["genre: noir"], [["genre: saga"]])
    skill = initial_skill("ann", "movietv", (), contrast)
    after = merge(skill, resolve_choice(skill, ValidatedProposal(Proposal()), contrast))
    supports = {line.attribute_id.rpartition(":")[2]: line.support for line in ranked_lines(after)}
    assert supports == {"noir": 1, "saga": 0}
    assert KnownFacts.of(after, ()).is_unknown("preference:genre:saga")
