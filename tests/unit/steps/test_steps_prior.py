"""The step `prior`, and where skills begin: state in, effects out (paper 2.3)."""

from operators.graph.items import GraphLimits
from operators.language.privacy import KEEP_ALL
from operators.steps.prior import PriorOutcome, PriorState, PriorStep, SkillStart
from schemas import AttributeSource, ErasedScope, Receipt, Tier, subject_digest
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_position,
    a_rank_request,
    a_time,
    an_attribute,
    an_interaction,
    id_of,
    item_facts,
    texts,
)

PRIOR = PriorStep(graph=GraphLimits())
NOIR = item_facts("i1", "genre: noir")
FORGOTTEN = Receipt(
    event_id="f",
    occurred_at=NOW,
    subject=subject_digest(USER),
    person=ErasedScope(event_id="f", until=a_time(5), actor="ann", done=True),
)
LATE = a_position(3, timestamp_ms=round(a_time(60).timestamp() * 1000))


def test_an_interaction_is_counted_and_remembered() -> None:
    effects = PRIOR.step(PriorState(), an_interaction(), NOIR, LATE)

    assert effects.outcome is PriorOutcome.COUNTED
    assert effects.profile is not None
    assert effects.remembered is not None
    assert effects.profile.interactions == effects.remembered.memory.interactions == 1
    assert effects.remembered.touch is not None
    assert [each.item_id for each in effects.remembered.touch.items] == ["i1"]


def test_a_repeated_interaction_has_no_effects() -> None:
    interaction = an_interaction()
    first = PRIOR.step(PriorState(), interaction, NOIR, LATE)
    assert first.remembered is not None

    again = PRIOR.step(PriorState(first.profile, first.remembered.memory), interaction, NOIR, LATE)

    assert (again.outcome, again.profile, again.remembered) == (PriorOutcome.REPEATED, None, None)


def test_a_missing_write_is_repeated_after_a_crash() -> None:
    interaction = an_interaction()
    first = PRIOR.step(PriorState(), interaction, NOIR, LATE)
    assert first.remembered is not None

    without_profile = PRIOR.step(PriorState(None, first.remembered.memory), interaction, NOIR, LATE)
    without_memory = PRIOR.step(PriorState(first.profile, None), interaction, NOIR, LATE)

    assert (without_profile.profile, without_profile.remembered) == (first.profile, None)
    assert (without_memory.profile, without_memory.remembered) == (None, first.remembered)


def test_a_resent_event_only_moves_the_fence() -> None:
    interaction = an_interaction()
    first = PRIOR.step(PriorState(), interaction, NOIR, LATE)
    assert first.remembered is not None

    again = PRIOR.step(PriorState(first.profile, first.remembered.memory), interaction, NOIR, a_position(9))

    assert again.profile is not None
    assert again.remembered is not None
    assert (again.profile.interactions, again.remembered.memory.interactions) == (1, 1)
    assert again.remembered.touch is None


def test_interactions_before_an_erasure_are_not_counted() -> None:
    before = PRIOR.step(PriorState(receipt=FORGOTTEN), an_interaction(occurred_at=a_time(4)), NOIR, LATE)
    after = PRIOR.step(PriorState(receipt=FORGOTTEN), an_interaction(occurred_at=a_time(6)), NOIR, LATE)

    assert (before.outcome, before.profile, before.remembered) == (PriorOutcome.FORGOTTEN, None, None)
    assert after.outcome is PriorOutcome.COUNTED


class TestStart:
    TEMPLATE = (
        an_attribute("genre: drama", Tier.MEDIUM, AttributeSource.GLOBAL),
        an_attribute("author: ann@example.org", Tier.MEDIUM, AttributeSource.GLOBAL),
    )
    PROFILE = PRIOR.step(PriorState(), an_interaction(), NOIR, LATE).profile

    def test_users_with_a_history_start_with_it(self) -> None:
        skill = SkillStart(privacy=PRIVACY).skill(USER, DOMAIN, a_rank_request(), self.PROFILE, self.TEMPLATE)

        assert (skill.version, skill.attributes) == (0, ()), "one visit proves nothing"
        assert list(skill.hypotheses) == [id_of("genre: noir")]

    def test_new_users_start_with_the_template(self) -> None:
        """A template may be older than what is private now."""
        new_user = (USER, DOMAIN, a_rank_request(), None, self.TEMPLATE)

        assert texts(SkillStart(privacy=PRIVACY).skill(*new_user).attributes) == ["genre: drama"]
        assert len(SkillStart(privacy=KEEP_ALL).skill(*new_user).attributes) == 2
