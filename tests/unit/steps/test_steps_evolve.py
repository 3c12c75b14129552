"""The step `evolve`: state in, effects out (paper 2.5)."""

import pytest

from operators.evolve.proposals import Proposal
from operators.graph.items import GraphLimits
from operators.learning.fold import merge
from operators.steps.evolve import EvolveEffects, EvolveOutcome, EvolveState, EvolveStep
from schemas import ONE, Action, Contrast, ErasedScope, Fact, ItemFacts, Receipt, Tier, line_digest, subject_digest
from schemas.events import Facet
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_command,
    a_contrast,
    a_position,
    a_proposal,
    a_skill,
    a_time,
    an_attribute,
    id_of,
)

NOIR, SAGA, DARK = "genre: noir", "genre: saga", "mood: dark"
STEP = EvolveStep(slim_tokens=30, chain_key=b"secret", graph=GraphLimits(), privacy=PRIVACY, gate=OUTPUT_GATE)
HELD = a_skill(an_attribute(NOIR, Tier.MEDIUM), an_attribute(SAGA, Tier.HIGH), slim_lines=(id_of(SAGA), id_of(NOIR)))


def a_receipt(**scopes: ErasedScope | dict[str, ErasedScope]) -> Receipt:
    return Receipt.model_validate({"event_id": "f", "occurred_at": NOW, "subject": subject_digest(USER), **scopes})


def forgotten_at(minutes: int) -> ErasedScope:
    return ErasedScope(event_id="f", until=a_time(minutes), actor="ann", done=True)


def finished(contrast: Contrast, proposal: Proposal, state: EvolveState | None = None) -> EvolveEffects:
    return STEP.finish(state or EvolveState(HELD), contrast, proposal, a_position(7))


class TestBegin:
    def test_a_choice_is_prepared_and_remembered(self) -> None:
        contrast = a_contrast([NOIR], [[SAGA]])

        begun = STEP.prepare(EvolveState(HELD), contrast, a_position(timestamp_ms=2**42))

        assert (begun.contrast, begun.outcome) == (contrast, None)
        assert begun.remembered is not None
        assert [taken.item_id for taken in begun.remembered.memory.taken] == ["taken"]
        assert begun.remembered.touch is not None
        assert [each.item_id for each in begun.remembered.touch.items] == ["taken"]

    def test_private_facts_are_removed_before_reasoning(self) -> None:
        """Older workers left it on the topic."""
        item = ItemFacts(
            item_id="taken",
            title="Write to ann@example.org",
            facts=(Fact(dimension="author", value="ann@example.org"), Fact(dimension="genre", value="noir")),
        )

        begun = STEP.prepare(EvolveState(HELD), a_contrast(item), a_position())

        assert begun.contrast is not None
        assert begun.remembered is not None
        assert [fact.value for fact in begun.contrast.chosen.facts] == ["noir"]
        assert "example.org" not in begun.contrast.chosen.title + begun.remembered.memory.model_dump_json()

    def test_an_erased_choice_is_dropped(self) -> None:
        receipt = a_receipt(domains={DOMAIN: forgotten_at(0)})

        begun = STEP.prepare(EvolveState(HELD, receipt), a_contrast([NOIR], occurred_at=a_time(0)), a_position())

        assert (begun.contrast, begun.outcome, begun.remembered) == (None, EvolveOutcome.FORGOTTEN, None)

    def test_an_erased_line_is_not_learned_from_earlier_events(self) -> None:
        line = line_digest(USER, DOMAIN, id_of(NOIR))
        receipt = a_receipt(lines={line: forgotten_at(5)})
        late = round(a_time(9).timestamp() * 1000)

        earlier = a_contrast(
            [NOIR, DARK], occurred_at=a_time(4), facets=(Facet(facet="drawn to noir", confidence=0.9),)
        )
        before = STEP.prepare(EvolveState(HELD, receipt), earlier, a_position())
        after = STEP.prepare(
            EvolveState(HELD, receipt), a_contrast([NOIR], occurred_at=a_time(6)), a_position(timestamp_ms=late)
        )

        assert before.contrast is not None
        assert after.contrast is not None
        assert [fact.value for fact in before.contrast.chosen.facts] == ["dark"]
        assert before.contrast.facets == (), "a model would read them"
        assert [fact.value for fact in after.contrast.chosen.facts] == ["noir"]

    def test_a_repeated_choice_is_detected_by_id_or_position(self) -> None:
        contrast = a_contrast([NOIR])
        by_id = a_skill(recent=(contrast.event_id,))
        by_place = a_skill(applied=(a_position(7),))

        assert STEP.prepare(EvolveState(by_id), contrast, a_position(9)).outcome is EvolveOutcome.REPEATED
        assert STEP.prepare(EvolveState(by_place), contrast, a_position(7)).outcome is EvolveOutcome.REPEATED
        assert STEP.prepare(EvolveState(by_place), contrast, a_position(8)).outcome is None

    def test_frozen_and_warmed_up_skills_do_not_learn(self) -> None:
        frozen, warm = a_skill(frozen=True), a_skill(version=3)

        assert STEP.prepare(EvolveState(frozen), a_contrast()).outcome is EvolveOutcome.FROZEN
        for rounds, outcome in ((3, EvolveOutcome.FROZEN), (4, None)):
            step = EvolveStep(warmup_rounds=rounds, privacy=PRIVACY, gate=OUTPUT_GATE)
            assert step.prepare(EvolveState(warm), a_contrast()).outcome is outcome


class TestFinish:
    def test_effects_have_a_sealed_diff_a_skill_and_a_slim_skill(self) -> None:
        effects = finished(a_contrast([SAGA, DARK]), a_proposal([SAGA], [DARK]))

        assert effects.outcome is EvolveOutcome.EVOLVED
        assert effects.version is not None
        assert effects.diff is not None
        assert effects.skill == effects.version.skill == merge(HELD, effects.diff)
        assert effects.diff.source == a_position(7)
        assert effects.version.slim is None, "likes and order are as they were, so apps hear nothing"

    def test_a_slim_skill_is_sent_when_its_text_changes(self) -> None:
        low = a_skill(an_attribute(NOIR, Tier.LOW, taken=2 * ONE, support=1))

        effects = finished(a_contrast([NOIR]), a_proposal([NOIR]), EvolveState(low))

        assert effects.version is not None
        assert effects.version.slim is not None
        assert (effects.version.slim.text, effects.version.slim.skill_version) == ("likes: noir", 2)

    def test_an_answer_is_merged_into_the_current_skill(self) -> None:
        """Saga was removed while the reasoner thought (invariant 3)."""
        contrast = a_contrast([NOIR])
        answer = a_proposal([NOIR, SAGA])
        now = a_skill(an_attribute(NOIR, Tier.LOW), version=2)

        effects = finished(contrast, answer, EvolveState(now))

        assert effects.diff is not None
        assert (effects.diff.base_version, effects.diff.version) == (2, 3)
        assert [change.attribute_id for change in effects.diff.changes] == [id_of(NOIR)]
        assert [refused.attribute_id for refused in effects.diff.refused] == [id_of(SAGA)]


def test_a_command_before_an_erasure_is_dropped() -> None:
    receipt = a_receipt(person=forgotten_at(0))

    effects = STEP.command(EvolveState(HELD, receipt), a_command(Action.PIN, NOIR))

    assert (effects.outcome, effects.skill, effects.diff) == (EvolveOutcome.FORGOTTEN, HELD, None)


class TestUnsent:
    """A worker died after it wrote a skill; its successor asks what is on the topics."""

    LEFT = finished(a_contrast([NOIR, DARK]), a_proposal([NOIR], [DARK])).skill

    @pytest.mark.parametrize(
        ("diff_version", "slim_version", "slim_text", "diff_goes", "slim_goes"),
        [
            (0, 0, None, True, True),
            (1, 1, "likes: saga", True, True),
            (1, 1, "likes: saga, noir", True, False),
            (2, 1, "likes: saga, noir", False, False),
            (2, 2, "likes: old", False, False),
        ],
    )
    def test_unsent_parts_are_sent_again(
        self, diff_version: int, slim_version: int, slim_text: str | None, diff_goes: bool, slim_goes: bool
    ) -> None:
        missing = STEP.missing_version(EvolveState(self.LEFT), diff_version, slim_version, slim_text)

        assert missing.skill == self.LEFT
        assert missing.diff == (self.LEFT.last_diff if diff_goes else None)
        assert (missing.slim is not None) == slim_goes
