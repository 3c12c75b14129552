"""What people say, by clocks that lie, late, long or odd: nothing is lost by it, and nothing raises."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from operators.evolve.proposal import Proposal
from operators.evolve.reasoners import COUNTS
from operators.language.corrections import understand
from operators.merge import fold
from operators.redact import of_line, redacted
from operators.stated import live, speaks_against
from operators.steps import Evolve, State
from operators.steps.evolved import Effects
from schemas import (
    Bound,
    Candidate,
    Contrast,
    Correction,
    Directive,
    Fact,
    Feedback,
    ItemFacts,
    Measure,
    PolicySkill,
    Scope,
    SkillDiff,
    Stance,
    decode,
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
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


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


class TestExtremes:
    @pytest.mark.parametrize("seconds", [0, 0.1, 0.3, 1, 3, 1e6])
    def test_a_look_of_any_length_is_taken(self, seconds: float) -> None:
        skill = hear(hear(NEW, "liked"), "dwelled", value=seconds)

        assert skill.version == 2

    def test_of_choices_of_many_items_a_diff_tells_what_it_holds(self) -> None:
        many = [
            ItemFacts(item_id=f"i{n}", facts=tuple(Fact(dimension=f"d{m}", value=f"v{n}-{m}") for m in range(32)))
            for n in range(100)
        ]
        chosen, *also = many
        contrast = a_contrast(chosen, also=tuple(also), unchosen=())

        assert choose(NEW, contrast.model_copy(update={"unchosen": (NOIR,)})).version == 1
        assert correct(NEW, items=many, suits=[item.item_id for item in many[:60]]).skill.version == 1

    @pytest.mark.parametrize("title", ["A\nB", "\0", " ", "\u202e", "x" * 500])
    def test_an_item_of_any_title_can_be_disliked(self, title: str) -> None:
        skill = hear(NEW, "disliked", NOIR.model_copy(update={"title": title}))

        assert decode(PolicySkill, encode(skill)).stated[0].item_id == "a"

    @pytest.mark.parametrize("scope", Scope)
    def test_the_calendar_may_end_before_what_is_said_does(self, scope: Scope) -> None:
        skill = correct(NEW, says(Stance.AVOIDS, "noir"), at=LAST, scope=scope, session_id="s").skill

        assert skill.sessions[0].until > LAST
        assert live(skill, LAST, "s") == skill.stated
        assert hear(NEW, "liked", at=LAST, session_id="s").sessions

    def test_a_bound_without_a_limit_speaks_against_nothing(self) -> None:
        skill = correct(NEW, Directive(stance=Stance.AVOIDS, bound=Bound(measure=Measure.PRICE))).skill
        priced = NOIR.model_copy(update={"measures": {"price": 9.0}})

        assert skill.stated
        assert not any(speaks_against(said, priced, ()) for said in skill.stated)


class TestLate:
    def test_a_late_word_yields_to_a_later_one(self) -> None:
        effects = correct(NEW, says(Stance.PREFERS, "noir"), at=a_time(10))
        late = correct(effects.skill, says(Stance.AVOIDS, "noir"), at=a_time(5))

        assert late.skill.stated == effects.skill.stated
        assert effects.diff is not None
        assert late.diff is not None
        assert encode(fold([effects.diff, late.diff])[USER, DOMAIN]) == encode(late.skill)

    def test_the_same_said_earlier_is_not_newer(self) -> None:
        skill = correct(NEW, says(Stance.AVOIDS, "noir"), at=a_time(10)).skill
        late = correct(skill, says(Stance.AVOIDS, "noir"), at=a_time(5), scope="now").skill

        assert late.stated == skill.stated

    def test_a_late_signal_takes_no_later_word_back(self) -> None:
        skill = hear(NEW, "disliked", at=a_time(10))

        assert hear(skill, "liked", at=a_time(5)).stated == skill.stated
        assert not hear(skill, "liked", at=a_time(15)).stated

    def test_what_suited_before_takes_no_later_word_back(self) -> None:
        skill = correct(NEW, says(Stance.AVOIDS, "noir"), at=a_time(10)).skill

        assert correct(skill, suits=["a"], at=a_time(5)).skill.stated == skill.stated
        assert not correct(skill, suits=["a"], at=a_time(15)).skill.stated

    def test_a_late_choice_does_not_end_what_was_said_since_for_now(self) -> None:
        skill = correct(NEW, says(Stance.AVOIDS, "noir"), at=a_time(10), scope="now").skill
        contrast = a_contrast(["genre: saga"], [["genre: noir"]])

        late = choose(skill, contrast.model_copy(update={"occurred_at": a_time(5)}))
        assert late.stated == skill.stated
        assert not choose(skill, contrast.model_copy(update={"occurred_at": a_time(11)})).stated

    def test_sessions_of_long_ago_do_not_push_out_one_that_is_on(self) -> None:
        skill = correct(NEW, says(Stance.AVOIDS, "noir"), scope="session", session_id="tonight").skill
        for number in range(3):
            skill = hear(skill, "liked", SAGA, NOW - timedelta(days=number + 1), session_id=f"old-{number}")

        assert [each.session_id for each in skill.sessions] == ["tonight"]
        assert live(skill, a_time(5), "tonight")


def test_the_other_way_round_takes_the_place_of_what_was_said() -> None:
    skill = correct(NEW, says(Stance.INSTEAD, "noir", over="saga")).skill
    skill = correct(skill, says(Stance.INSTEAD, "saga", over="noir")).skill

    assert [(each.value, each.over) for each in skill.stated] == [("saga", "preference:genre:noir")]


def test_a_frozen_skill_counts_nothing_of_what_suits() -> None:
    skill = hear(correct(NEW, says(Stance.AVOIDS, "noir")).skill, "purchased", SAGA)
    frozen = skill.model_copy(update={"frozen": True})

    effects = correct(frozen, suits=["a"], session_id="s")

    assert effects.skill.attributes == frozen.attributes
    assert effects.skill.beliefs == frozen.beliefs
    assert not effects.skill.stated
    assert not effects.skill.sessions[0].lines


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
