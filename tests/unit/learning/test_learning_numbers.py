"""Trade-offs: what choices between numbers prove, and how the lines about them come and go."""

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.habit_directions import number_words
from operators.history import disagreements, line_value, rank_by_number
from operators.learning.choice_model import ListFeatures
from operators.learning.commands import resolve_command
from operators.learning.fold import fold, initial_skill, merge
from operators.learning.lesson import prediction_of
from operators.learning.limits import MergeLimits
from operators.learning.number_lines import number_line_id, proven_tier
from operators.learning.outcomes import outcome_of
from operators.learning.questions import shown_items
from operators.learning.statements import StatementSubject, StatementUpdate
from operators.learning.tradeoffs import number_evidence, number_rows, pair, personal_weights
from operators.learning.update import resolve_choice
from operators.numbers import DeclaredNumber
from operators.redaction import redact_skill_log
from operators.slim.rules import slim
from operators.slim.selection import select
from operators.slim.trade_offs import number_weights, trade_off_of
from operators.steps.evolve import EvolveState, EvolveStep
from operators.weights import RankWeights, apply_outcome, initial_weights, rank_weights
from schemas import (
    ONE,
    Action,
    AttributeKind,
    Bound,
    Contrast,
    Directive,
    Evidence,
    ItemFacts,
    Measure,
    PolicySkill,
    Scope,
    SkillDiff,
    Stance,
    Tier,
    decode,
    encode,
    line_digest,
)
from schemas.diffs import NumberSums, TradeOff
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.policies import output_gate
from streams.settings import Settings
from streams.steps import limits_of
from tests.builders import a_command, a_contrast, a_skill, an_attribute

CHEAPER = number_line_id("price", False)


def trips(rng: random.Random, size: int = 3) -> list[ItemFacts]:
    return [
        ItemFacts(item_id=f"t{n}", measures={"price": rng.randint(10, 60), "minutes": rng.randint(30, 200)})
        for n in range(size)
    ]


def a_choice(items: list[ItemFacts], chosen: int, number: int) -> Contrast:
    left = tuple(item for place, item in reversed(list(enumerate(items))) if place != chosen)
    return a_contrast(["x: y"], event_id=f"c{number}").model_copy(
        update={"chosen": items[chosen], "chosen_rank": chosen + 1, "unchosen": left}
    )


def played(choose: Callable[[random.Random, list[ItemFacts]], int], choices: int, seed: int = 1) -> list[SkillDiff]:
    rng = random.Random(seed)
    skill, log = initial_skill("ann", "trips", (), a_contrast()), list[SkillDiff]()
    for number in range(choices):
        items = trips(rng)
        contrast = a_choice(items, choose(rng, items), number).model_copy(update={"domain": "trips"})
        log.append(resolve_choice(skill, ValidatedProposal(Proposal()), contrast))
        skill = merge(skill, log[-1])
    return log


def cheapest(_: random.Random, items: list[ItemFacts]) -> int:
    return min(range(len(items)), key=lambda n: items[n].measures["price"])


def dearest(rng: random.Random, items: list[ItemFacts]) -> int:
    del rng
    return max(range(len(items)), key=lambda n: items[n].measures["price"])


def blindly(rng: random.Random, items: list[ItemFacts]) -> int:
    return rng.randrange(len(items))


def skill_of(log: list[SkillDiff]) -> PolicySkill:
    [skill] = fold(log).values()
    return skill


def test_a_cheap_traveller_is_known_within_eight_choices() -> None:
    def known_after(seed: int) -> int:
        log = played(cheapest, 12, seed)
        tiers = [{line.attribute_id: line.tier for line in skill_of(log[:n]).attributes} for n in range(1, 13)]
        return next((n for n, held in enumerate(tiers, 1) if held.get(CHEAPER, Tier.SILENT) >= Tier.MEDIUM), 99)

    assert sorted(map(known_after, range(9)))[4] <= 8
    skill = skill_of(played(cheapest, 12))
    assert slim(skill, gate=OUTPUT_GATE).style == "cheaper first"
    assert personal_weights(["minutes", "price"], {}, skill.numbers)["price"] < -0.5


def test_blind_choices_prove_nothing() -> None:
    proven = [
        line
        for seed in range(60)
        for line in skill_of(played(blindly, 20, seed)).attributes
        if line.proof and line.tier >= Tier.MEDIUM
    ]

    assert len(proven) <= 3


def test_trade_offs_are_the_fold_of_the_log() -> None:
    log = played(cheapest, 10)

    again = skill_of([decode(SkillDiff, encode(diff)) for diff in log])

    assert encode(again) == encode(skill_of(log))
    assert again.numbers is not None
    assert again.numbers.pulls["price"] < 0
    assert again.numbers.curves[pair("price", "price")] > 0


def test_a_person_meets_any_number_of_numbers() -> None:
    rng, skill = random.Random(1), initial_skill("ann", "shop", (), a_contrast())
    for number in range(20):
        names = [f"size_{chr(97 + (8 * number + more) % 26)}" for more in range(8)] + ["price"]
        items = [ItemFacts(item_id=f"i{n}", measures={name: rng.random() for name in names}) for n in range(3)]
        skill = merge(skill, resolve_choice(skill, ValidatedProposal(Proposal()), a_choice(items, 0, number)))

    assert decode(PolicySkill, encode(skill)) == skill
    assert skill.numbers is not None
    assert len(skill.numbers.pulls) == 24
    assert "price" in skill.numbers.pulls


def test_a_removed_line_starts_from_zero() -> None:
    skill = skill_of(played(cheapest, 10))
    command = a_command(Action.REMOVE, attribute_id=CHEAPER).model_copy(update={"domain": "trips"})

    after = merge(skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

    assert after.numbers is not None
    assert set(after.numbers.pulls) == {"minutes"}
    assert set(after.numbers.curves) == {"minutes minutes"}


@pytest.mark.parametrize("tier", [Tier.LOW, Tier.HIGH])
def test_a_tier_that_a_person_sets_is_proven(tier: Tier) -> None:
    skill = skill_of(played(cheapest, 6))
    command = a_command(Action.SET_TIER, attribute_id=CHEAPER, tier=tier)

    after = merge(skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

    [line] = after.attributes
    assert (line.tier, proven_tier(line.proof)) == (tier, tier)
    assert after.numbers is not None
    assert after.numbers.proofs["price"] == line.proof


def test_a_restored_line_has_its_proof_and_outlives_the_next_choice() -> None:
    then = skill_of(played(cheapest, 8))
    back = a_command(Action.ROLL_BACK, to_version=then.version, lines=then.attributes, hypotheses=then.hypotheses)
    after = then
    for command in (a_command(Action.REMOVE, attribute_id=CHEAPER), back):
        after = merge(after, resolve_command(after, command, privacy=PRIVACY, gate=OUTPUT_GATE))

    assert {line.attribute_id: line for line in after.attributes} == {a.attribute_id: a for a in then.attributes}
    items = trips(random.Random(1))
    choice = a_choice(items, cheapest(random.Random(1), items), 99)
    after = merge(after, resolve_choice(after, ValidatedProposal(Proposal()), choice))
    assert CHEAPER in {line.attribute_id for line in after.attributes}


def test_lines_of_a_hostile_import_leave_the_skill_readable() -> None:
    names = ["prix €", *(letter * n for letter in "xyz" for n in range(1, 22))]
    lines = [an_attribute(f"by_{name}: low first", kind=AttributeKind.CRITERION) for name in names]
    skill, command = initial_skill("ann", "trips", (), a_contrast()), a_command(Action.IMPORT, lines=lines)
    skill = merge(skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))
    assert decode(PolicySkill, encode(skill)) == skill


def test_an_erased_line_is_in_no_diff() -> None:
    log = played(cheapest, 10)

    rewritten = redact_skill_log(log, line_digest("ann", "trips", CHEAPER))

    raw = b"".join(encode(diff) for diff in rewritten)
    assert b"cheaper" not in raw
    assert b'"price"' not in raw
    numbers = skill_of(rewritten).numbers
    assert numbers is not None
    assert "price" not in numbers.pulls


def test_our_own_prediction_comes_with_the_ranking() -> None:
    items = trips(random.Random(3))
    skill = skill_of(played(cheapest, 6))
    features = ListFeatures.of(items, skill.attributes, sums=skill.numbers).to_event(range(3))
    ours = a_choice(items, 0, 1).model_copy(update={"features": features})

    assert prediction_of(skill, ours) == features
    assert prediction_of(skill, ours.model_copy(update={"features": None})) == features


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(0, 1e9), max_size=3), min_size=2, max_size=6),
    st.integers(0, 5),
)
def test_any_numbers_give_bounded_evidence(measures: list[dict[str, float]], chosen: int) -> None:
    items = [ItemFacts(item_id=f"i{n}", measures=each) for n, each in enumerate(measures)]
    features = ListFeatures.of(items).to_event(range(len(items)))

    found = number_evidence(items, chosen % len(items), features)

    rows = {name: number.distances for name, number in number_rows(items, {}).items()}
    assert all(-4 <= value <= 4 for row in rows.values() for value in row)
    assert (found is None) is not bool(rows)
    if found is not None:
        assert all(abs(value) <= 64 * ONE for value in (*found.sums.pulls.values(), *found.sums.curves.values()))


@pytest.mark.parametrize(("nats", "tier"), [(0.9, Tier.SILENT), (1, Tier.LOW), (2.5, Tier.MEDIUM), (30, Tier.HIGH)])
def test_a_tier_needs_proof(nats: float, tier: Tier) -> None:
    assert proven_tier(round(nats * ONE)) is tier


def test_a_lines_value_is_the_misses_that_the_skill_makes_without_it() -> None:
    log, rng, lists = played(cheapest, 40), random.Random(1), {}
    for number in range(40):
        items = trips(rng)
        lists[f"c{number}"] = sorted(items, key=lambda item: item.measures["price"])

    price, minutes = (line_value(log, lists, number_line_id(name, False)) for name in ("price", "minutes"))

    assert (price.choices, price.saved > 15, abs(minutes.saved) < 3) == (40, True, True)
    assert {rank_by_number(items, CHEAPER) for items in lists.values()} == {1}


DOMAIN = RankWeights(usual={"price": (35.0, 145.0), "minutes": (115.0, 1_600.0)})
DECLARED = {"price": DeclaredNumber(unit="EUR", less="bargains"), "minutes": DeclaredNumber(unit="minutes")}


def trade_off(skill: PolicySkill, weights: RankWeights) -> TradeOff:
    return trade_off_of(skill, number_weights(skill, weights), weights, DECLARED, OUTPUT_GATE)


def trade_off_after(euros: float, choices: int, seed: int) -> float | None:
    """Return the stated price of half an hour after choices of a person who pays so much for it."""
    rng = random.Random(seed)
    skill = initial_skill("ann", "trips", (), a_contrast())

    def cost(item: ItemFacts) -> float:
        noise = math.log(-math.log(rng.random()))
        return 0.15 * (item.measures["price"] + euros * item.measures["minutes"] / 30) + noise

    for number in range(choices):
        items = trips(rng, 5)
        contrast = a_choice(items, min(range(5), key=lambda place: cost(items[place])), number)
        shown, _ = shown_items(contrast)
        features = ListFeatures.of(shown, skill.attributes, weights=DOMAIN, sums=skill.numbers)
        update = {"features": features.to_event(range(5), DOMAIN), "domain": "trips"}
        skill = merge(skill, resolve_choice(skill, ValidatedProposal(Proposal()), contrast.model_copy(update=update)))
    words = trade_off(skill, DOMAIN).words
    found = re.fullmatch(r"pays about ([\d.]+) EUR more to save ([\d.]+) minutes", words)
    return found and float(found[1]) / float(found[2]) * 30


def test_a_stated_trade_off_is_true_within_a_factor_of_two() -> None:
    prices = [6.0 * 1.08**seed for seed in range(30)]
    stated = [(price, trade_off_after(price, 40, seed)) for seed, price in enumerate(prices)]

    known = [found / price for price, found in stated if found is not None]
    assert len(known) >= 5
    assert sum(0.5 <= ratio <= 2 for ratio in known) >= 0.9 * len(known)


def test_the_domain_s_trade_off_is_marked_and_leaves_a_sure_person_alone() -> None:
    domain = replace(
        DOMAIN, numbers={"price": -0.6, "minutes": -0.8}, number_variances={"price": 0.01, "minutes": 0.01}
    )
    newcomer = initial_skill("ann", "trips", (), a_contrast())

    found = trade_off(newcomer, domain)

    assert found == TradeOff("most people here pay about 15 EUR more to save 40 minutes")
    text = slim(newcomer.model_copy(update={"trade_off": found}), gate=OUTPUT_GATE).text
    assert text == f"style: {found.words}"
    unsure = replace(domain, number_variances={"price": 0.2, "minutes": 0.2})
    assert trade_off(newcomer, unsure) == TradeOff()
    assert trade_off(skill_of(played(cheapest, 12)), domain) == TradeOff()


def test_prices_in_millions_give_no_trade_off() -> None:
    dear = [ItemFacts(item_id=f"t{n}", measures={"price": 1e7 * n, "minutes": 99.0 + n**2}) for n in range(3)]
    newcomer = initial_skill("ann", "trips", (), a_contrast())
    outcome = outcome_of(a_choice(dear, 0, 1), newcomer, RankWeights(), 1, 0)
    assert outcome is not None
    usual = rank_weights(apply_outcome(initial_weights("trips", outcome), outcome)).usual
    variances = {"price": 0.01, "minutes": 0.01}
    domain = RankWeights(usual=usual, numbers={"price": -0.6, "minutes": -0.8}, number_variances=variances)

    assert trade_off(newcomer, domain) == TradeOff()
    assert trade_off(newcomer, replace(domain, usual={**usual, "price": (1e7, 1e8)})).words


def test_a_trade_off_is_in_the_log_until_a_line_is_erased() -> None:
    step = EvolveStep(
        MergeLimits(numbers={"trips": DECLARED}), privacy=PRIVACY, gate=OUTPUT_GATE, slim_tokens=30, chain_key=b""
    )
    domain = replace(
        DOMAIN, numbers={"price": -0.6, "minutes": -0.8}, number_variances={"price": 0.01, "minutes": 0.01}
    )
    log = played(blindly, 2)
    before = skill_of(log)
    contrast = a_choice(trips(random.Random(4)), 0, 9).model_copy(update={"domain": "trips"})

    after = step.finish(EvolveState(before, weights=domain), contrast, Proposal())

    assert after.diff is not None
    assert after.version is not None
    assert after.version.slim is not None
    assert after.diff.trade_off == after.skill.trade_off
    assert after.version.slim.text == f"style: {after.skill.trade_off.words}"
    assert encode(skill_of([*log, decode(SkillDiff, encode(after.diff))])) == encode(after.skill)
    rewritten = redact_skill_log([*log, after.diff], line_digest("ann", "trips", CHEAPER))
    assert not skill_of(rewritten).trade_off.words


def test_a_declared_number_has_the_operator_s_words() -> None:
    settings = Settings(numbers={"trips": DECLARED})
    limits = limits_of(settings)
    skill = initial_skill("ann", "trips", (), a_contrast())
    rng = random.Random(1)
    for number in range(8):
        items = trips(rng)
        contrast = a_choice(items, cheapest(rng, items), number)
        skill = merge(skill, resolve_choice(skill, ValidatedProposal(Proposal()), contrast, limits=limits))

    [line] = [each for each in skill.attributes if each.attribute_id == CHEAPER]
    assert line.value == "bargains first"
    assert output_gate(settings).rejection(line.dimension, line.value) is None


@pytest.mark.parametrize(("choose", "words"), [(cheapest, ["cheaper first"]), (blindly, [])])
def test_a_person_to_whom_the_price_does_not_matter_disagrees_with_choices_by_price(choose, words) -> None:
    log = played(choose, 20)
    about = StatementSubject.of(Directive(stance=Stance.PREFERS, bound=Bound(measure=Measure.PRICE)), {})
    stated = StatementUpdate(initial_skill("ann", "trips", (), log[0]), log[0], Evidence(event_id="w"), None)
    stated.state(Stance.PREFERS, about, "the price does not matter", Scope.ALWAYS)
    skill = skill_of(log).model_copy(update={"stated": stated.current})

    assert [found.line.value for found in disagreements(skill, log)] == words


def test_a_trade_off_that_turns_gives_the_opposite_line() -> None:
    made: list[int] = []

    def turning(rng: random.Random, items: list[ItemFacts]) -> int:
        made.append(1)
        return cheapest(rng, items) if len(made) <= 30 else dearest(rng, items)

    skill = skill_of(played(turning, 55))
    assert [line.value for line in skill.attributes if line.dimension == "by_price"] == ["dearer first"]


def test_the_slim_text_names_first_what_weighs_most() -> None:
    price, minutes = (
        an_attribute(f"by_{name}: {number_words(name, False)}", Tier.HIGH, kind=AttributeKind.CRITERION)
        for name in ("price", "minutes")
    )
    evidence = tuple(Evidence(event_id=name, item_id=name) for name in "abc")
    skill = a_skill(price, minutes.model_copy(update={"evidence": evidence}), domain="trips")
    jazz = an_attribute("genre: jazz", Tier.HIGH, taken=4 * ONE, expected=ONE // 2)
    sums = NumberSums(pulls={"price": -4 * ONE}, curves={"price price": 8 * ONE})

    order = select(skill, gate=OUTPUT_GATE, numbers={"price": -0.2, "minutes": -0.9})
    of_both = trade_off(a_skill(price, jazz, domain="trips", numbers=sums), RankWeights())

    assert order == (minutes.attribute_id, price.attribute_id)
    assert of_both == TradeOff("jazz before bargains", ("price",))
    text = slim(a_skill(price, jazz, trade_off=of_both), gate=OUTPUT_GATE).text
    assert text == "likes: jazz | style: jazz before bargains"
