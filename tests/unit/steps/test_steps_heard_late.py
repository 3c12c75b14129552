"""What people say, by clocks that lie, late, long or odd: nothing is lost by it, and nothing raises."""

from collections.abc import Sequence
from datetime import datetime

import pytest

from operators.evolve.proposal import Proposal
from operators.evolve.reasoners import COUNTS
from operators.language.corrections import understand
from operators.merge import fold
from operators.redact import of_line, redacted
from operators.steps import Evolve, State
from operators.steps.evolved import Effects
from schemas import (
    Candidate,
    Contrast,
    Correction,
    Directive,
    Feedback,
    ItemFacts,
    PolicySkill,
    SkillDiff,
    Stance,
    encode,
    line_of,
)
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import DOMAIN, NOW, USER, a_contrast, a_name, a_skill, a_time, item_facts

STEP = Evolve(slim_tokens=30, privacy=PRIVACY, vouching=VOUCHING)
NOIR, SAGA = item_facts("a", "genre: noir"), item_facts("b", "genre: saga")
NEW = a_skill(version=0)


def hear(skill: PolicySkill, signal: str, item: ItemFacts = NOIR, at: datetime = NOW, **more: object) -> PolicySkill:
    fields = {"event_id": a_name("f"), "occurred_at": at, "user_id": USER, "domain": DOMAIN, "signal": signal, **more}
    feedback = Feedback.model_validate({**fields, "item": {"item_id": item.item_id}})
    return STEP.hear(State(skill), feedback, item).skill


def correct(
    skill: PolicySkill, *says: Directive, at: datetime = NOW, items: Sequence[ItemFacts] = (NOIR, SAGA), **more: object
) -> Effects:
    fields = {"event_id": a_name("w"), "occurred_at": at, "user_id": USER, "domain": DOMAIN, **more}
    shown = [Candidate(item_id=item.item_id) for item in items]
    correction = Correction.model_validate({**fields, "says": says, "items": shown})
    return STEP.correct(
        State(skill), correction, items, understand(correction, items, skill, privacy=PRIVACY, reader=RULES)
    )


def choose(skill: PolicySkill, contrast: Contrast) -> PolicySkill:
    return STEP.finish(State(skill), contrast, Proposal(reasoned_by=COUNTS)).skill


def says(stance: Stance, value: str, **more: object) -> Directive:
    return Directive.model_validate({"stance": stance, "dimension": "genre", "value": value, **more})


class TestLate:
    def test_a_late_word_yields_to_a_later_one(self) -> None:
        effects = correct(NEW, says(Stance.PREFERS, "noir"), at=a_time(10))
        late = correct(effects.skill, says(Stance.AVOIDS, "noir"), at=a_time(5))

        assert late.skill.stated == effects.skill.stated
        assert effects.diff is not None
        assert late.diff is not None
        assert encode(fold([effects.diff, late.diff])[USER, DOMAIN]) == encode(late.skill)

    def test_a_late_signal_takes_no_later_word_back(self) -> None:
        skill = hear(NEW, "disliked", at=a_time(10))

        assert hear(skill, "liked", at=a_time(5)).stated == skill.stated
        assert not hear(skill, "liked", at=a_time(15)).stated

    def test_a_late_choice_does_not_end_what_was_said_since_for_now(self) -> None:
        skill = correct(NEW, says(Stance.AVOIDS, "noir"), at=a_time(10), scope="now").skill
        contrast = a_contrast(["genre: saga"], [["genre: noir"]])

        late = choose(skill, contrast.model_copy(update={"occurred_at": a_time(5)}))
        assert late.stated == skill.stated
        assert not choose(skill, contrast.model_copy(update={"occurred_at": a_time(11)})).stated


@pytest.mark.parametrize("value", ["noir", "\u00df" * 119])
def test_a_forgotten_line_leaves_no_words_in_any_statement_of_the_log(value: str) -> None:
    """The id of a statement about a long line is cut, so that it tells the line's digest no more."""
    skill, log = NEW, []
    for minute, stance in enumerate([Stance.AVOIDS, Stance.PREFERS, Stance.AVOIDS]):
        said = Directive(stance=stance, dimension="d" * 40, value=value)
        effects = correct(skill, said, Directive(stance=stance, dimension="e", value="saga"), at=a_time(minute))
        skill, log = effects.skill, [*log, *filter(None, [effects.diff])]
    line = line_of(USER, DOMAIN, skill.stated[0].attribute_id)

    again = redacted(log, line)

    assert ("d" * 40).encode() not in b"".join(map(encode, again))
    left = [each for each in fold(again)[USER, DOMAIN].stated if not of_line(each, line)]
    assert [each.statement_id for each in left] == [skill.stated[1].statement_id]


def test_a_slim_skill_is_told_that_what_it_says_is_doubtful_now() -> None:
    """Also where no line of the skill is sure enough to be in it."""
    skill = correct(NEW, says(Stance.AVOIDS, "noir")).skill
    diff = hear_diff(skill)

    version = STEP.version(State(skill), diff.model_copy(update={"shifted": True}))

    assert STEP.slim(skill).avoids == ("noir",)  # type: ignore[union-attr]
    assert version.slim is not None
    assert version.slim.avoids == ()


def hear_diff(skill: PolicySkill) -> SkillDiff:
    feedback = Feedback.model_validate(
        {
            "event_id": "f",
            "occurred_at": NOW,
            "user_id": USER,
            "domain": DOMAIN,
            "signal": "skipped",
            "item": {"item_id": "a"},
        }
    )
    diff = STEP.hear(State(skill), feedback, NOIR).diff
    assert diff is not None
    return diff
