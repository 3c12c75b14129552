"""Trade-offs: what choices between numbers prove, and how the lines about them come and go."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.history import line_value
from operators.learning.choice_model import ListFeatures
from operators.learning.commands import resolve_command
from operators.learning.fold import fold, initial_skill, merge
from operators.learning.number_lines import number_line_id, proven_tier
from operators.learning.tradeoffs import distances, number_evidence, pair, personal_weights, scales
from operators.learning.update import prediction_of, resolve_choice
from operators.redaction import redact_skill_log
from operators.slim import slim
from schemas import ONE, Action, Contrast, ItemFacts, PolicySkill, SkillDiff, Tier, decode, encode, line_digest
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_command, a_contrast

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


def test_a_removed_line_starts_from_zero() -> None:
    skill = skill_of(played(cheapest, 10))
    command = a_command(Action.REMOVE, attribute_id=CHEAPER).model_copy(update={"domain": "trips"})

    after = merge(skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

    assert after.numbers is not None
    assert set(after.numbers.pulls) == {"minutes"}
    assert set(after.numbers.curves) == {"minutes minutes"}


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

    rows = distances(items, scales(items, {}))
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
