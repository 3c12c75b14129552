"""Cold start (paper 2.3): users begin with the global skill and leave behind what their own choices do not confirm."""

from hypothesis import given
from hypothesis import strategies as st

from operators.attributes import from_fact
from operators.evolve import RulesReasoner
from operators.merge import MergeLimits, fit_seed, fold
from operators.merge.room import DEFAULT_LIMITS
from schemas import Attribute, ChangeKind, Source, Tier, encode
from tests.builders import DOMAIN, USER, a_contrast, a_proposal, a_skill, an_attribute, evolve, texts
from tests.unit.operators.test_op_invariants import FACT, FEW_LINES, HISTORY, MANY, Stream, Told

NOIR, SAGA = "genre: noir", "genre: saga"
LOW, MEDIUM, HIGH = Tier.LOW, Tier.MEDIUM, Tier.HIGH


def popular(text: str = NOIR, tier: Tier = MEDIUM, **more: object) -> Attribute:
    return an_attribute(text, tier, Source.GLOBAL, **more)


class TestPatience:
    def test_somebody_new_leaves_the_crowd_behind_as_choices_come(self) -> None:
        """The whole way: five choices of noir among sagas, by the rules."""
        skill = a_skill(popular(NOIR, LOW), popular(SAGA, MEDIUM), popular("mood: cosy", LOW), version=0)
        for _ in range(5):
            contrast = a_contrast([NOIR, "author: Jo Wick"], [[SAGA], [SAGA, "mood: cosy"]])
            skill, _ = evolve(skill, RulesReasoner().propose(contrast, skill), contrast)

        assert {
            (text, a.source, a.tier) for text, a in zip(texts(skill.attributes), skill.attributes, strict=True)
        } == {(NOIR, Source.GLOBAL, HIGH), ("author: Jo Wick", Source.DISCOVERED, HIGH)}


class TestRoom:
    def evict(self, *lines: Attribute, keep: int) -> list[str]:
        skill = a_skill(*lines, version=2)
        after, _ = evolve(skill, a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=keep))
        return [text for text in texts(skill.attributes) if text not in texts(after.attributes)]

    def test_unconfirmed_global_lines_make_room_first(self) -> None:
        own = an_attribute("genre: own", LOW, Source.DISCOVERED)

        assert self.evict(own, popular("genre: all", HIGH), keep=2) == ["genre: all"]


OWN = (ChangeKind.REINFORCED, ChangeKind.DISCOVERED, ChangeKind.ADDED, ChangeKind.REWORDED)
"""What the user chose, or said."""
UNCONFIRMED = st.builds(from_fact, FACT, st.sampled_from(Tier), st.just(Source.GLOBAL), support=st.just(0))
OTHERS = st.builds(from_fact, FACT, st.sampled_from(Tier), st.sampled_from(list(Source)), support=st.integers(1, 9))
SEEDS = st.lists(UNCONFIRMED | UNCONFIRMED | OTHERS, max_size=12, unique_by=lambda a: a.attribute_id).map(tuple)
LIMITS = st.sampled_from([DEFAULT_LIMITS, FEW_LINES, MergeLimits(global_patience=1), MergeLimits(global_patience=9)])


@MANY
@given(SEEDS, HISTORY, LIMITS)
def test_for_any_history_only_what_is_unconfirmed_loses_patience(
    seed: tuple[Attribute, ...], history: list[Told], limits: MergeLimits
) -> None:
    """And the fold is exact; an oracle of our own counts who was confirmed."""
    stream = Stream(seed, limits).play(history)
    confirmed = {a.attribute_id for a in seed if a.support or a.source is not Source.GLOBAL}
    contrasts, before = 0, {a.attribute_id: a for a in fit_seed(seed, limits)}

    for diff, skill in zip(stream.log, stream.skills, strict=True):
        contrasts += diff.is_contrast
        confirmed |= {c.attribute_id for c in diff.changes if c.kind in OWN}
        back = [c.discovered for c in diff.changes if c.kind is ChangeKind.RESTORED and c.discovered]
        confirmed |= {a.attribute_id for a in back if a.support or a.source is not Source.GLOBAL}
        # A version from before anything confirmed it has been restored: it has to be confirmed anew.
        confirmed -= {a.attribute_id for a in back if not a.support and a.source is Source.GLOBAL}
        unpinned = {a.attribute_id for a in skill.attributes if not a.pinned}
        if diff.is_contrast and contrasts >= limits.global_patience:
            assert unpinned <= confirmed
        for change in diff.changes:
            if change.kind is ChangeKind.EVICTED and change.reason:
                assert diff.is_contrast
                assert contrasts >= limits.global_patience
                assert change.attribute_id not in confirmed
                assert not before[change.attribute_id].pinned
        before = {a.attribute_id: a for a in skill.attributes}

    if stream.skill is not None:
        assert encode(fold(stream.log)[USER, DOMAIN]) == encode(stream.skill)
