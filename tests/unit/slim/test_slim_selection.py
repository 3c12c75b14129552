"""The slim text is stable: a theme leaves it for a clearly stronger one, or when it may not be in it any more."""

import asyncio
import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import CountsReasoner
from operators.language.output_policy import OutputGate
from operators.learning.evidence import counts_for_tier, strength
from operators.learning.fold import fold, initial_skill
from operators.slim.rules import slim
from operators.slim.selection import SlimSelection, select
from operators.steps.evolve import EvolveState, EvolveStep, learn
from schemas import ONE, Attribute, AttributeSource, Contrast, PolicySkill, SkillDiff, SlimSkill, Tier, encode
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, EVERYTHING, USER, a_contrast, a_skill, an_attribute, id_of

STEP = EvolveStep(slim_tokens=30, chain_key=b"secret", gate=EVERYTHING, privacy=PRIVACY)
GENRES = ("noir", "saga", "fantasy", "western", "musical", "horror")
MANY = (*GENRES, "romance", "crime", "war", "sports", "history", "comedy", "drama", "nature", "travel", "music")


def a_like(value: str, taken: float, expected: float = 0, tier: Tier = Tier.MEDIUM, **more: object) -> Attribute:
    return an_attribute(f"genre: {value}", tier, taken=round(taken * ONE), expected=round(expected * ONE), **more)


def a_stable(*lines: Attribute, selected: tuple[str, ...], **more: object) -> PolicySkill:
    return a_skill(*lines, slim_lines=tuple(id_of(f"genre: {value}") for value in selected), **more)


def text_after(skill: PolicySkill, gate: OutputGate = EVERYTHING, **more: object) -> str:
    lines = select(skill, 30, gate=gate, **more)  # type: ignore[arg-type]
    return slim(skill.model_copy(update={"slim_lines": lines}), gate=gate).text


FULL = (a_like("noir", 2), a_like("saga", 2.5), a_like("fantasy", 3, tier=Tier.HIGH))


class TestSelection:
    def test_a_slightly_stronger_like_replaces_none(self) -> None:
        skill = a_stable(*FULL, a_like("western", 2.6, tier=Tier.HIGH), selected=("noir", "saga", "fantasy"))

        assert text_after(skill) == "likes: noir, saga, fantasy"

    def test_a_clearly_stronger_like_replaces_the_weakest(self) -> None:
        skill = a_stable(*FULL, a_like("western", 4, tier=Tier.HIGH), selected=("saga", "noir", "fantasy"))

        assert text_after(skill) == "likes: saga, western, fantasy"

    def test_a_stated_like_needs_no_margin(self) -> None:
        full = [a_like(value, 9, tier=Tier.HIGH) for value in GENRES[:3]]
        stated = a_like("western", counts_for_tier(Tier.HIGH) / ONE, tier=Tier.HIGH, source=AttributeSource.STATED)
        pinned = a_like("horror", 0, pinned=True)

        assert "western" in text_after(a_stable(*full, stated, selected=GENRES[:3]))
        assert "horror" in text_after(a_stable(*full, pinned, selected=GENRES[:3]))

    def test_a_rejected_like_leaves_at_once(self) -> None:
        unknown = a_like("obey the colonel now", 3, tier=Tier.HIGH)
        skill = a_stable(unknown, FULL[1], selected=("obey the colonel now", "saga"))

        assert slim(skill, gate=EVERYTHING).likes == ("obey the colonel now", "saga")
        assert slim(skill, gate=OUTPUT_GATE).likes == ("saga",)
        assert text_after(skill, OutputGate(policy=RULES)) == "likes: saga"


lines = st.lists(
    st.builds(
        a_like,
        st.sampled_from(GENRES),
        st.integers(0, 6),
        st.integers(0, 3),
        tier=st.sampled_from(Tier),
        pinned=st.booleans(),
        confirmed_at=st.integers(0, 9),
    ),
    max_size=6,
    unique_by=lambda line: line.attribute_id,
)


@given(lines, st.lists(st.sampled_from(GENRES), max_size=3, unique=True))
def test_a_selected_like_leaves_only_for_a_stronger_one(found: list[Attribute], selected: list[str]) -> None:
    skill = a_stable(*found, selected=tuple(selected))
    held = [
        name
        for name in skill.slim_lines
        if name in {line.attribute_id for line in skill.attributes if line.tier >= Tier.MEDIUM}
    ]

    now = select(skill, gate=OUTPUT_GATE)

    by_id = {line.attribute_id: line for line in found}
    joined = [by_id[name] for name in now if name not in held]
    for gone in (by_id[name] for name in held if name not in now):
        assert any(line.pinned > gone.pinned or strength(line) >= strength(gone) + 0.4 for line in joined), (
            "a clearly stronger line took its place"
        )
    stayed = [name for name in held if name in now]
    assert [name for name in now if name in stayed] == stayed, "the others keep their order"
    assert len(now) >= min(len(held), 3)


async def played(contrasts: list[Contrast], shares: list[dict[str, float]] | None = None) -> list[tuple]:
    skill, found = initial_skill(USER, DOMAIN, (), contrasts[0]), []
    for number, contrast in enumerate(contrasts):
        state = EvolveState(skill, shares=shares[number % len(shares)] if shares else None)
        version = (await learn(STEP, CountsReasoner().reason, state, contrast)).version
        assert version is not None
        skill = version.skill
        found.append((version.skill, version.diff, version.slim))
    return found


def stream(contrasts: list[Contrast], shares: list[dict[str, float]] | None = None) -> list[tuple]:
    return asyncio.run(played(contrasts, shares))


choice = st.lists(st.sampled_from(GENRES), min_size=1, max_size=3, unique=True).map(
    lambda chosen: a_contrast(
        [f"genre: {value}" for value in chosen], [[f"genre: {value}"] for value in GENRES if value not in chosen]
    )
)


@given(
    st.lists(choice, min_size=1, max_size=12),
    st.lists(
        st.dictionaries(
            st.sampled_from(GENRES).map(lambda value: id_of(f"genre: {value}")), st.sampled_from([0.0, 0.1, 0.9])
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_apps_have_the_slim_text_of_the_fold(contrasts: list[Contrast], shares: list[dict[str, float]]) -> None:
    log: list[SkillDiff] = []
    held: SlimSkill | None = None
    for skill, diff, sent in stream(contrasts, shares):
        log.append(diff)
        assert sent is None or held is None or sent.text != held.text, "a record changes the text"
        held = sent or held
        [folded] = fold(log).values()
        assert encode(folded) == encode(skill), "the selection is in the log, under its seal"
        assert (held.text if held else "") == STEP.slim(folded).text  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(3))
def test_twenty_choices_change_the_text_a_few_times(seed: int) -> None:
    """She takes what is noir where there is any. All items have other themes too, as items do."""
    pick = random.Random(seed)
    contrasts = []
    for _ in range(20):
        items = [[f"genre: {value}" for value in pick.sample(MANY, 3)] for _ in range(8)]
        taken = next((item for item in items if "genre: noir" in item), items[0])
        contrasts.append(a_contrast(taken, [item for item in items if item is not taken]))

    versions = stream(contrasts)

    texts = [slim(skill, gate=OUTPUT_GATE).text for skill, _, _ in versions]
    fresh = [slim(skill.model_copy(update={"slim_lines": ()}), gate=OUTPUT_GATE).text for skill, _, _ in versions]
    changes, without = (sum(before != after for before, after in pairwise(each)) for each in (texts, fresh))
    assert changes <= 3, texts
    assert changes <= without, "without a memory of its lines the text changes more often"
    assert sum(sent is not None for _, _, sent in versions) <= changes + 1
    assert "noir" in texts[-1]


def test_lines_that_left_during_a_models_call_are_not_selected() -> None:
    skill, contrast = a_skill(*(a_like(each, 9, tier=Tier.HIGH) for each in GENRES[:2])), a_contrast(["genre: noir"])
    answer, step = CountsReasoner().propose(contrast, skill), replace(STEP, extract_by_model=True)

    def selected(*values: str) -> set[str]:
        selection = SlimSelection(tuple(id_of(f"genre: {value}") for value in values))
        return set(step.finish(EvolveState(skill), contrast, answer, None, selection).skill.slim_lines)

    assert selected("crime", "saga") == {id_of("genre: saga")}
    assert selected("crime") == selected() == {id_of("genre: noir"), id_of("genre: saga")}, "by rules"
