"""What signals, words and abstentions do to a skill: the step's promises (invariants 1, 2, 5 and 6)."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import COUNTS, Proposal
from operators.language.corrections import understand
from operators.learning.fold import fold, merge
from operators.redaction import redact_skill_log, was_about
from operators.skill_document import skill_document
from operators.stated import live_statements
from operators.steps.evolve import EvolveEffects, EvolveOutcome, EvolveState, EvolveStep
from operators.steps.rank import RankStep
from schemas import Abstention, Contrast, Feedback, PolicySkill, SkillChangeKind, SkillDiff, encode, line_digest
from schemas.items import Candidate, ItemFacts, Measure
from schemas.skills import ONE, AttributeSource, Tier
from schemas.statements import Bound, Correction, Directive, Scope, Stance, StatementChangeKind
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_contrast,
    a_name,
    a_position,
    a_skill,
    a_time,
    an_attribute,
    id_of,
    item_facts,
    line,
)

NOIR, SAGA, WAR = "genre: noir", "genre: saga", "genre: war"
STEP, RANK = (
    EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE),
    RankStep(privacy=PRIVACY, gate=OUTPUT_GATE),
)
HELD = a_skill(an_attribute(NOIR, Tier.HIGH, taken=6 * ONE, expected=ONE, support=6))
NEW = a_skill(version=0)
SHOWN = (item_facts("a", NOIR), item_facts("b", SAGA), item_facts("c", WAR))


def signal(name: str, item_id: str = "a", **more: object) -> Feedback:
    fields = {"event_id": a_name("f"), "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, **more}
    return Feedback.model_validate({**fields, "signal": name, "item": {"item_id": item_id}})


def words(*says: Directive, suits: Sequence[str] = (), **more: object) -> Correction:
    fields = {"event_id": a_name("w"), "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, **more}
    items = [Candidate(item_id=item.item_id) for item in SHOWN]
    return Correction.model_validate(
        {"text": "words", **fields, "directives": says, "acceptable": suits, "items": items}
    )


def avoids(text: str, **more: object) -> Directive:
    dimension, value = text.split(": ")
    return Directive.model_validate({"stance": Stance.AVOIDS, "dimension": dimension, "value": value, **more})


def prefers(text: str) -> Directive:
    return avoids(text).model_copy(update={"stance": Stance.PREFERS})


def hear(feedback: Feedback, skill: PolicySkill = HELD, item: ItemFacts | None = None) -> EvolveEffects:
    return STEP.apply_signal(EvolveState(skill), feedback, item or item_facts(feedback.item.item_id, NOIR))


def correct(correction: Correction, skill: PolicySkill = HELD) -> EvolveEffects:
    return STEP.correct(
        EvolveState(skill), correction, SHOWN, understand(correction, SHOWN, skill, privacy=PRIVACY, reader=RULES)
    )


def abstain(skill: PolicySkill = HELD, **more: object) -> EvolveEffects:
    fields = {"event_id": a_name("n"), "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, "ranking_id": "r", **more}
    return STEP.abstain(EvolveState(skill), Abstention.model_validate({**fields, "shown": SHOWN}))


def choose(skill: PolicySkill, contrast: Contrast) -> EvolveEffects:
    return STEP.finish(EvolveState(skill), contrast, Proposal(reasoned_by=COUNTS))


class TestSignals:
    @pytest.mark.parametrize(
        ("stars", "added"), [(5, (ONE, 0, 786)), (4, (ONE // 2, 0, 393)), (2, (0, ONE // 2, -415))]
    )
    def test_ratings_count_by_their_position_on_the_scale(self, stars: float, added: tuple[int, int, int]) -> None:
        diff = hear(signal("rated", value=stars)).diff

        assert diff is not None
        assert diff.count_delta is not None
        assert diff.count_delta.lines == {id_of(NOIR): added}

    @pytest.mark.parametrize("name", ["disliked", "hidden", "returned"])
    def test_a_strong_dislike_avoids_the_item_only(self, name: str) -> None:
        """Invariant 5: it may be disliked for anything."""
        effects = hear(signal(name), item=item_facts("a", NOIR, WAR))

        assert [(said.stance, said.item_id) for said in effects.skill.stated] == [(Stance.AVOIDS, "a")]
        assert id_of(WAR) not in {each.attribute_id for each in effects.skill.attributes}

    def test_an_item_with_a_private_title_can_be_hidden(self) -> None:
        effects = hear(signal("hidden"), item=item_facts("a", NOIR, title="Diabetes diet plan"))

        assert [(said.item_id, said.value) for said in effects.skill.stated] == [("a", "one item")]

    def test_a_later_like_withdraws_the_avoidance(self) -> None:
        disliked = hear(signal("disliked")).skill

        assert hear(signal("liked"), disliked).skill.stated == ()

    def test_a_short_look_discovers_no_line(self) -> None:
        both = item_facts("a", NOIR, SAGA)

        assert hear(signal("dwelled", value=30), item=both).skill.hypotheses == {}
        assert hear(signal("purchased"), item=both).skill.hypotheses.keys() == {id_of(SAGA)}

    def test_a_signal_counts_once(self) -> None:
        liked = signal("liked")

        assert hear(liked, hear(liked).skill).outcome is EvolveOutcome.REPEATED


class TestWords:
    def test_an_avoidance_silences_the_line_in_every_view(self) -> None:
        correction = words(avoids(NOIR))
        effects = correct(correction)

        (said,) = effects.skill.stated
        assert (said.stance, said.attribute_id, said.scope) == (Stance.AVOIDS, id_of(NOIR), Scope.ALWAYS)
        assert said.evidence.event_id == correction.event_id
        assert line(effects.skill, NOIR) == line(HELD, NOIR)
        assert RANK.lines(effects.skill) == ()
        assert effects.skill.strategy.must_include == ()
        assert "**noir** (genre; likes" not in skill_document(effects.skill, gate=OUTPUT_GATE)
        assert effects.version is not None
        assert effects.version.slim is not None
        assert effects.version.slim.text == "avoids: noir"

    def test_a_new_avoidance_outlasts_a_suitable_item_that_has_it(self) -> None:
        skill = correct(words(avoids(NOIR), suits=("a",))).skill

        assert [(each.stance, each.attribute_id) for each in skill.stated] == [(Stance.AVOIDS, id_of(NOIR))]

    def test_the_second_suitable_item_counts_half_as_much(self) -> None:
        diff = correct(words(suits=("a", "b"))).diff

        assert diff is not None
        assert diff.count_delta is not None
        assert diff.count_delta.lines[id_of(NOIR)][0] == round(ONE / 1.5)

    def test_an_avoidance_for_now_ends_with_the_next_choice(self) -> None:
        liked, other = a_contrast([NOIR], [[SAGA], [WAR], [WAR]]), a_contrast([SAGA], [[WAR]])
        skill = a_skill()
        for number in range(12):
            skill = choose(skill, liked.model_copy(update={"event_id": f"c{number}"})).skill

        tonight = correct(words(avoids(NOIR), scope=Scope.NOW), skill).skill
        after = choose(tonight, other).skill

        assert id_of(NOIR) not in [
            each.attribute_id for each in RANK.session_lines(tonight, RANK.lines(tonight), NOW, None)
        ]
        assert after.attributes == choose(skill, other).skill.attributes
        assert line(after, NOIR).tier is Tier.HIGH
        assert id_of(NOIR) in [each.attribute_id for each in RANK.session_lines(after, RANK.lines(after), NOW, None)]

    def test_a_changed_taste_makes_older_statements_doubtful(self) -> None:
        before = correct(words(avoids(SAGA))).skill
        effects = correct(words(avoids(NOIR, changed=True)), before)

        assert effects.diff is not None
        assert effects.diff.shifted
        assert [change.kind for change in effects.diff.changes] == [SkillChangeKind.OVERTAKEN]
        assert [said.since < effects.skill.shifted for said in effects.skill.stated] == [True, False]

    def test_a_bound_ends_with_the_next_choice(self) -> None:
        cheaper = Directive(stance=Stance.PREFERS, bound=Bound(measure=Measure.PRICE, below=20))
        skill = correct(words(cheaper)).skill

        assert [said.scope for said in live_statements(skill, NOW)] == [Scope.NOW]
        assert live_statements(skill, NOW + timedelta(hours=1)) == ()
        assert choose(skill, a_contrast([NOIR], [[SAGA]])).skill.stated == ()

    def test_session_statements_end_with_their_session(self) -> None:
        skill = correct(words(avoids(SAGA), scope=Scope.SESSION, session_id="s1")).skill

        assert len(live_statements(skill, NOW, "s1")) == 1
        assert live_statements(skill, NOW, "s2") == live_statements(skill, NOW) == ()
        assert live_statements(skill, NOW + timedelta(hours=3), "s1") == ()
        later = hear(signal("liked", occurred_at=a_time(60 * 3)), skill)
        assert later.diff is not None
        assert [change.kind for change in later.diff.stated] == [StatementChangeKind.EXPIRED]

    def test_statements_are_limited(self) -> None:
        skill = HELD
        for number in range(60):
            skill = correct(words(avoids(f"genre: kind {number}")), skill).skill
        for number in range(20):
            skill = hear(signal("disliked", f"i{number}"), skill).skill

        assert len(skill.stated) == 48
        assert sum(said.item_id is not None for said in skill.stated) == 16


@pytest.mark.parametrize("by_sager", [True, False])
def test_taking_the_first_item_counts_only_in_the_apps_order(by_sager: bool) -> None:
    skill = a_skill()
    for _ in range(30):
        contrast = a_contrast([NOIR], [[SAGA], [WAR], [SAGA], [WAR]], by_sager=by_sager)
        skill = choose(skill, contrast).skill

    assert ("position" in skill.habits) is not by_sager
    assert ("takes what stands first" in [each.value for each in skill.attributes]) is not by_sager


def test_session_choices_are_in_the_slim_text() -> None:
    skill = a_skill(an_attribute(NOIR, Tier.HIGH, taken=6 * ONE, expected=ONE, support=6))
    contrast = a_contrast([SAGA], [[WAR], [NOIR]]).model_copy(update={"session_id": "s1"})
    effects = choose(skill, contrast)

    assert effects.version is not None
    slim = effects.version.slim
    assert slim is not None
    assert (slim.text, slim.session_text) == ("likes: noir", "likes: noir | now: saga")
    assert (slim.session_id, slim.session_until) == ("s1", NOW + timedelta(hours=2))


class TestChange:
    def test_a_drifted_line_falls_silent(self) -> None:
        skill = a_skill(an_attribute(NOIR, Tier.HIGH, taken=14 * ONE, expected=ONE, proof=12 * ONE, support=14))
        kinds = []
        for _ in range(12):
            effects = choose(skill, a_contrast([SAGA], [[NOIR], [WAR]]))
            assert effects.diff is not None
            kinds += [change.kind for change in effects.diff.changes if change.attribute_id == id_of(NOIR)]
            skill = effects.skill

        assert SkillChangeKind.SHIFTED in kinds
        assert line(skill, NOIR).tier is Tier.SILENT

    def test_a_line_fades_with_inactivity(self) -> None:
        weak = a_skill(an_attribute(NOIR, Tier.MEDIUM, taken=ONE, expected=200, support=3))
        effects = choose(weak, a_contrast([SAGA], [[WAR]], occurred_at=NOW + timedelta(days=365 * 8)))

        assert effects.diff is not None
        assert effects.diff.count_delta is not None
        assert effects.diff.count_delta.aged == 8
        changes = {change.attribute_id: change.kind for change in effects.diff.changes}
        assert changes[id_of(NOIR)] is SkillChangeKind.FADED


class TestLate:
    def test_a_late_statement_yields_to_a_newer_one(self) -> None:
        effects = correct(words(prefers(NOIR), occurred_at=a_time(10)), NEW)
        late = correct(words(avoids(NOIR), occurred_at=a_time(5)), effects.skill)

        assert late.skill.stated == effects.skill.stated
        assert effects.diff is not None
        assert late.diff is not None
        assert encode(fold([effects.diff, late.diff])[USER, DOMAIN]) == encode(late.skill)

    def test_a_late_signal_does_not_withdraw_a_newer_statement(self) -> None:
        skill = hear(signal("disliked", occurred_at=a_time(10)), NEW).skill

        assert hear(signal("liked", occurred_at=a_time(5)), skill).skill.stated == skill.stated
        assert not hear(signal("liked", occurred_at=a_time(15)), skill).skill.stated

    def test_a_late_choice_does_not_end_a_newer_statement(self) -> None:
        skill = correct(words(avoids(NOIR), occurred_at=a_time(10), scope=Scope.NOW), NEW).skill

        late = choose(skill, a_contrast([SAGA], [[NOIR]], occurred_at=a_time(5))).skill
        assert late.stated == skill.stated
        assert not choose(skill, a_contrast([SAGA], [[NOIR]], occurred_at=a_time(11))).skill.stated


@pytest.mark.parametrize("value", ["noir", "\u00df" * 119])
def test_an_erased_line_leaves_no_words_in_the_log(value: str) -> None:
    """The id of a statement about a long line is cut, so that it tells the line's digest no more."""
    skill, log = NEW, []
    for minute, stance in enumerate([Stance.AVOIDS, Stance.PREFERS, Stance.AVOIDS]):
        said = (Directive(stance=stance, dimension=name, value=of) for name, of in (("d" * 40, value), ("e", "saga")))
        effects = correct(words(*said, occurred_at=a_time(minute)), skill)
        skill, log = effects.skill, [*log, *filter(None, [effects.diff])]
    gone = line_digest(USER, DOMAIN, skill.stated[0].attribute_id)

    again = redact_skill_log(log, gone)

    assert ("d" * 40).encode() not in b"".join(map(encode, again))
    left = [each for each in fold(again)[USER, DOMAIN].stated if not was_about(each, gone)]
    assert [each.statement_id for each in left] == [skill.stated[1].statement_id]


def test_a_shift_sends_a_new_slim_skill() -> None:
    """Also where no line of the skill is sure enough to be in it."""
    skill = correct(words(avoids(NOIR)), NEW).skill
    diff = hear(signal("skipped"), skill).diff
    assert diff is not None

    version = STEP.version(EvolveState(skill), diff.model_copy(update={"shifted": True}))

    assert STEP.slim(skill).avoids == ("noir",)  # type: ignore[union-attr]
    assert version.slim is not None
    assert version.slim.avoids == ()


events = st.lists(
    st.one_of(
        st.sampled_from(["liked", "disliked", "skipped", "purchased", "hidden"]),
        st.sampled_from([NOIR, SAGA, WAR]),
        st.sampled_from(["avoids", "changed", "prefers", "suits", "none", "choice"]),
    ),
    max_size=14,
)


@given(events, st.randoms(use_true_random=False))
def test_feedback_folds_from_the_log_alone(heard: list[str], random: object) -> None:
    """Invariants 1 and 2: what is heard twice counts once, and the fold of the diffs is the skill."""
    log: list[SkillDiff] = []
    skill = a_skill(version=0, contrasts=0)
    for number, what in enumerate(heard):
        at = {"event_id": f"e{number}", "occurred_at": a_time(number)}
        source = a_position(number)
        texts = [NOIR, SAGA, WAR]
        said = {
            "avoids": (avoids(texts[number % 3]),),
            "changed": (avoids(texts[number % 3], changed=True),),
            "prefers": (prefers(texts[number % 3]),),
        }.get(what)
        for _ in range(2):
            state = EvolveState(skill)
            if said is not None or what == "suits":
                correction = words(*(said or ()), acceptable=["b"] if what == "suits" else [], **at)
                read = understand(correction, SHOWN, skill, privacy=PRIVACY, reader=RULES)
                effects = STEP.correct(state, correction, SHOWN, read, source)
            elif what == "none":
                fields = {"user_id": USER, "domain": DOMAIN, "ranking_id": "r", "shown": SHOWN, **at}
                effects = STEP.abstain(state, Abstention.model_validate(fields), source)
            elif what == "choice" or ": " in what:
                contrast = a_contrast([what if ": " in what else NOIR], [[SAGA], [WAR]], **at)
                if STEP.skip_reason(skill, contrast, source) is not None:
                    continue
                effects = STEP.finish(state, contrast, Proposal(reasoned_by=COUNTS), source)
            else:
                effects = STEP.apply_signal(state, signal(what, **at), item_facts("a", NOIR), source)
            if effects.diff is not None:
                log.append(effects.diff)
            skill = effects.skill
    assert len(log) == len(heard)
    if log:
        (folded,) = fold(log).values()
        assert folded == skill
        assert merge(folded, log[-1]) == folded
        assert not any(each.source is AttributeSource.GLOBAL for each in folded.attributes)
