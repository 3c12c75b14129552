"""The tier rule and its limits (paper 2.5, DESIGN 4.1, 4.2, 4.4, 4.6)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.attributes import from_fact
from operators.learning.fold import OutOfOrder, document_length, fold, has_learned, initial_skill, merge, strategy_of
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits, fit_seed
from schemas import ItemFacts, SkillChangeKind, SkillDiff, encode
from schemas.skills import MAX_RECENT, Attribute, AttributeSource, Evidence, Tier
from tests.builders import (
    DOMAIN,
    USER,
    a_contrast,
    a_position,
    a_proposal,
    a_skill,
    an_attribute,
    evolve,
    facts,
    id_of,
    line,
    texts,
)
from tests.unit.learning.test_learning_invariants import FACT, FEW_LINES, HISTORY, MANY, PlayedRecord, Stream

NOIR = "genre: noir"
LOW, MEDIUM, HIGH = Tier.LOW, Tier.MEDIUM, Tier.HIGH


def refusals(diff: SkillDiff) -> list[tuple[str, str]]:
    return [(refused.attribute_id, refused.why.value) for refused in diff.refused]


class TestDiscover:
    def test_a_discovery_starts_low_with_its_evidence(self) -> None:
        contrast = a_contrast([NOIR])

        skill, _ = evolve(a_skill(version=4), a_proposal(discovered=[NOIR]), contrast)

        noir = line(skill, NOIR)
        assert (noir.tier, noir.source, noir.support, noir.confirmed_at) == (LOW, AttributeSource.DISCOVERED, 1, 5)
        assert noir.evidence == (Evidence(event_id=contrast.event_id, item_id="taken"),)

    def test_discoveries_beyond_the_cap_are_refused(self) -> None:
        found = [f"genre: g{n}" for n in range(5)]

        skill, diff = evolve(a_skill(), a_proposal(discovered=found), limits=MergeLimits(discoveries=3))

        assert texts(skill.attributes) == found[:3]
        assert refusals(diff) == [(id_of(each), "capped") for each in found[3:]]


def test_pinned_and_protected_lines_are_never_evicted() -> None:
    protected = [an_attribute(f"genre: p{n}", HIGH) for n in range(2)]
    pinned = [an_attribute(f"genre: q{n}", LOW, AttributeSource.DISCOVERED, pinned=True) for n in range(2)]

    skill, diff = evolve(
        a_skill(*protected, *pinned), a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=4)
    )

    assert set(texts(skill.attributes)) == {"genre: p0", "genre: p1", "genre: q0", "genre: q1"}
    assert refusals(diff) == [(id_of("genre: fresh"), "full")]
    assert not diff.changes


def test_a_seed_leaves_room_for_higher_tiers() -> None:
    seed = [an_attribute(f"genre: g{n}", LOW) for n in range(20)]

    kept = fit_seed(seed, MergeLimits(seed_characters=300))

    raised = [each.model_copy(update={"tier": MEDIUM}) for each in kept]
    assert len(kept) > 10
    assert document_length(raised, strategy_of(())) <= 300


def test_a_gap_in_versions_is_out_of_order() -> None:
    given = a_skill(an_attribute(NOIR, LOW))
    first, _ = evolve(given, a_proposal(reinforced=[NOIR]))
    _, later = evolve(first, a_proposal(reinforced=[NOIR]))

    with pytest.raises(OutOfOrder, match="diff 3 of ann/books rests on 2, the skill is at 1"):
        merge(given, later)


def test_a_record_is_known_by_its_position() -> None:
    skill, diff = evolve(a_skill(), a_proposal(), source=a_position(0))
    for offset in range(1, MAX_RECENT + 5):
        skill, _ = evolve(skill, a_proposal(), source=a_position(offset))

    assert diff.event_id not in skill.recent
    assert len(skill.recent) == MAX_RECENT
    assert has_learned(skill, diff.event_id, a_position(0))
    assert not has_learned(skill, diff.event_id, a_position(MAX_RECENT + 5))


def test_the_fold_ignores_changed_limits() -> None:
    diffs: list[SkillDiff] = []
    skill = initial_skill(USER, DOMAIN, (an_attribute(NOIR, HIGH),), a_contrast())
    for limits in (MergeLimits(protect_contradictions=1), MergeLimits(attributes=1), MergeLimits()):
        skill, diff = evolve(skill, a_proposal(weakened=[NOIR], discovered=[f"genre: g{len(diffs)}"]), None, limits)
        diffs.append(diff)

    assert encode(fold(diffs)[USER, DOMAIN]) == encode(skill)


def test_reasons_are_kept_and_truncated() -> None:
    proposal = replace(a_proposal(reinforced=[NOIR]), reasons={id_of(NOIR): "w" * 999}, analysis="a" * 9_999)
    skill = a_skill(an_attribute(NOIR, LOW))

    _, diff = evolve(skill, proposal, a_contrast(ItemFacts(item_id="taken", facts=facts(NOIR))))

    assert diff.changes[0].reason == "w" * 300
    assert diff.analysis == "a" * 4_000


def popular(text: str = NOIR, tier: Tier = MEDIUM, **more: object) -> Attribute:
    return an_attribute(text, tier, AttributeSource.GLOBAL, **more)


class TestRoom:
    def evict(self, *lines: Attribute, keep: int) -> list[str]:
        skill = a_skill(*lines, version=2)
        after, _ = evolve(skill, a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=keep))
        return [text for text in texts(skill.attributes) if text not in texts(after.attributes)]

    def test_unconfirmed_global_lines_make_room_first(self) -> None:
        own = an_attribute("genre: own", LOW, AttributeSource.DISCOVERED)

        assert self.evict(own, popular("genre: all", HIGH), keep=2) == ["genre: all"]


OWN = (SkillChangeKind.REINFORCED, SkillChangeKind.DISCOVERED, SkillChangeKind.ADDED, SkillChangeKind.REWORDED)
"""What the user chose, or said."""
UNCONFIRMED = st.builds(from_fact, FACT, st.sampled_from(Tier), st.just(AttributeSource.GLOBAL), support=st.just(0))
OTHERS = st.builds(
    from_fact, FACT, st.sampled_from(Tier), st.sampled_from(list(AttributeSource)), support=st.integers(1, 9)
)
SEEDS = st.lists(UNCONFIRMED | UNCONFIRMED | OTHERS, max_size=12, unique_by=lambda a: a.attribute_id).map(tuple)
LIMITS = st.sampled_from([DEFAULT_LIMITS, FEW_LINES, MergeLimits(global_patience=1), MergeLimits(global_patience=9)])


@MANY
@given(SEEDS, HISTORY, LIMITS)
def test_patience_removes_only_unconfirmed_lines(
    seed: tuple[Attribute, ...], history: list[PlayedRecord], limits: MergeLimits
) -> None:
    """And the fold is exact; an oracle of our own counts who was confirmed."""
    stream = Stream(seed, limits).play(history)
    confirmed = {a.attribute_id for a in seed if a.support or a.source is not AttributeSource.GLOBAL}
    contrasts, before = 0, {a.attribute_id: a for a in fit_seed(seed, limits)}

    for diff, skill in zip(stream.log, stream.skills, strict=True):
        contrasts += diff.is_contrast
        confirmed |= {c.attribute_id for c in diff.changes if c.kind in OWN}
        back = [c.discovered for c in diff.changes if c.kind is SkillChangeKind.RESTORED and c.discovered]
        confirmed |= {a.attribute_id for a in back if a.support or a.source is not AttributeSource.GLOBAL}
        # A version from before anything confirmed it has been restored: it has to be confirmed anew.
        confirmed -= {a.attribute_id for a in back if not a.support and a.source is AttributeSource.GLOBAL}
        unpinned = {a.attribute_id for a in skill.attributes if not a.pinned}
        if diff.is_contrast and contrasts >= limits.global_patience:
            assert unpinned <= confirmed
        for change in diff.changes:
            if change.kind is SkillChangeKind.EVICTED and change.reason:
                assert diff.is_contrast
                assert contrasts >= limits.global_patience
                assert change.attribute_id not in confirmed
                assert not before[change.attribute_id].pinned
        before = {a.attribute_id: a for a in skill.attributes}

    if stream.skill is not None:
        assert encode(fold(stream.log)[USER, DOMAIN]) == encode(stream.skill)
