"""A skill's past, and what a line rests on."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.admission import is_applied
from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.history import disagreements, line_steps
from operators.learning.commands import resolve_command
from operators.learning.evidence import drift_detected, page_hinkley
from operators.learning.fold import initial_skill, merge
from operators.learning.statements import StatementSubject, StatementUpdate
from operators.learning.update import resolve_choice
from schemas import (
    ONE,
    Action,
    AttributeSource,
    Directive,
    Evidence,
    PolicySkill,
    Scope,
    SkillCommand,
    SkillDiff,
    Stance,
    Tier,
)
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, USER, a_command, a_contrast, a_position, a_proposal, an_attribute, evolve, id_of

NOIR, SAGA = "genre: noir", "genre: saga"


def log_of(*acts: SkillCommand | tuple[list[str], list[str]]) -> list[SkillDiff]:
    skill: PolicySkill = initial_skill(USER, DOMAIN, (an_attribute(NOIR),), a_command())
    log = []
    for act in acts:
        if isinstance(act, SkillCommand):
            log.append(resolve_command(skill, act, privacy=PRIVACY, gate=OUTPUT_GATE))
            skill = merge(skill, log[-1])
        else:
            skill, diff = evolve(skill, a_proposal(*act))
            log.append(diff)
    return log


def test_a_lines_history_has_its_seed_and_events() -> None:
    log = log_of(([NOIR], [SAGA]), ([SAGA], []), ([NOIR], []))

    found = line_steps(log, id_of(NOIR))

    assert [step.diff.version for step in found] == [1, 1, 3]
    assert found[0].change is None
    assert found[0].seeded is not None
    assert found[0].seeded.tier is Tier.MEDIUM
    assert [step.change.kind.value for step in found if step.change] == ["reinforced", "reinforced"]


def test_a_reworded_lines_history_includes_its_old_words() -> None:
    log = log_of(([NOIR], []), a_command(Action.REWORD, NOIR, value="film noir"))

    found = line_steps(log, id_of("genre: film noir"))

    assert [step.attribute_id for step in found] == [id_of(NOIR), id_of(NOIR), id_of("genre: film noir")]


HELD = (a_position(7, "a", 1, timestamp_ms=50),)


@pytest.mark.parametrize(
    ("offset", "topic", "partition", "timestamp_ms", "applied"),
    [
        (7, "a", 1, 50, True),
        (3, "a", 1, 20, True),
        (8, "a", 1, 50, False),
        (7, "b", 1, 50, False),
        (7, "a", 2, 50, False),
        (3, "a", 1, 51, False),
    ],
)
def test_records_up_to_the_fence_are_applied(
    offset: int, topic: str, partition: int, timestamp_ms: int, applied: bool
) -> None:
    assert is_applied(HELD, a_position(offset, topic, partition, timestamp_ms)) is applied


SURE = an_attribute(tier=Tier.HIGH, taken=9 * ONE, expected=ONE, source=AttributeSource.DISCOVERED)


def offers_until_told(chance: float, share: float, seed: int, most: int) -> int:
    """How many lists that offer a sure line's thing pass until a change is told, where it is taken so often."""
    draw, drift = random.Random(seed), 0
    for number in range(1, most + 1):
        drift = page_hinkley(SURE.model_copy(update={"drift": drift}), int(share * ONE), draw.random() < chance)
        if drift_detected(SURE, drift):
            return number
    return most


@pytest.mark.parametrize("share", [0.1, 0.33, 0.5])
def test_drift_is_detected_soon_and_seldom_by_mistake(share: float) -> None:
    odds = 6.0
    holding = share * odds / (1 + share * (odds - 1))
    kept = sorted(offers_until_told(holding, share, seed, 2_000) for seed in range(99))[49]
    lost = sorted(offers_until_told(share / 3, share, seed, 2_000) for seed in range(99))[49]

    assert kept > 120
    assert lost < 12
    assert kept > 5 * lost


def test_drift_tests_of_prior_lines_need_more_evidence() -> None:
    learned = an_attribute(tier=Tier.HIGH, taken=7 * ONE, expected=ONE, source=AttributeSource.DISCOVERED)
    prior = learned.model_copy(update={"source": AttributeSource.PRIOR})

    assert page_hinkley(learned, 300, taken=False) > 0
    assert page_hinkley(prior, 300, taken=False) == 0
    assert page_hinkley(prior.model_copy(update={"taken": 10 * ONE}), 300, taken=False) > 0


@given(st.integers(0, 64 * ONE), st.integers(1, ONE - 1), st.booleans())
def test_the_cusum_stays_within_bounds(drift: int, share: int, taken: bool) -> None:
    assert 0 <= page_hinkley(SURE.model_copy(update={"drift": drift}), share, taken) <= 64 * ONE


@pytest.mark.parametrize(
    ("stance", "value", "values"),
    [
        (Stance.AVOIDS, "saga", ["saga"]),
        (Stance.PREFERS, "noir", [None]),
        (Stance.PREFERS, "saga", []),
        (Stance.AVOIDS, "noir", []),
    ],
)
def test_choices_disagree_with_a_statement_that_they_contradict(stance: Stance, value: str, values: list[str]) -> None:
    skill, log = initial_skill(USER, DOMAIN, (), a_command()), []
    for number in range(16):
        contrast = a_contrast([SAGA], [[NOIR], ["genre: war"]], event_id=f"c{number}")
        log.append(resolve_choice(skill, ValidatedProposal(Proposal()), contrast))
        skill = merge(skill, log[-1])
    stated = StatementUpdate(initial_skill(USER, DOMAIN, (), log[0]), log[0], Evidence(event_id="w"), None)
    about = StatementSubject.of(Directive(stance=stance, dimension="genre", value=value), {})
    stated.state(stance, about, "", Scope.ALWAYS)
    skill = skill.model_copy(update={"stated": stated.current})

    assert [found.line and found.line.value for found in disagreements(skill, log)] == values
