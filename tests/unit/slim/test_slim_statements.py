"""Words for now in the slim line that hosts read: marked, with their end, and never without the clock (issue 27)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import COUNTS, Proposal
from operators.language.corrections import understand
from operators.learning.evidence import signed_strength
from operators.learning.fold import fold
from operators.slim.rules import slim
from operators.slim.statements import with_session
from operators.stated import live_statements
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.rank import RankStep
from operators.tokens import count_tokens
from schemas import ONE, Contrast, PolicySkill, SessionLine, SkillDiff, SkillSession, SlimSkill, Tier
from schemas.statements import Correction, Directive, Scope, Stance
from streams.http.topic_cache import slim_for_host
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, USER, a_contrast, a_skill, a_time, an_attribute

SCIFI, NOIR = "genre: sci-fi", "genre: noir"
STEP = EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE)
HELD = a_skill(*(an_attribute(each, Tier.HIGH, taken=9 * ONE, expected=ONE, support=9) for each in (SCIFI, NOIR)))


def corrected(*says: Directive, scope: Scope = Scope.NOW, session_id: str | None = None, skill=HELD):
    event = Correction(
        event_id="w1", occurred_at=NOW, user_id=USER, domain=DOMAIN, directives=says, scope=scope, session_id=session_id
    )
    return STEP.correct(EvolveState(skill), event, (), understand(event, (), skill, privacy=PRIVACY, reader=RULES))


def slim_of(effects) -> SlimSkill:
    assert effects.version is not None
    assert effects.version.slim is not None
    return effects.version.slim


NO_SCIFI = Directive(stance=Stance.AVOIDS, dimension="genre", value="sci-fi")


def test_a_statement_for_now_is_in_the_line_until_it_ends() -> None:
    slim = slim_of(corrected(NO_SCIFI))

    assert slim.text_at(NOW) == "likes: noir | now: no sci-fi"
    assert slim.text == slim.text_at(NOW + timedelta(minutes=30)) == "likes: noir, sci-fi"
    assert count_tokens(slim.session_text) <= 30


def test_http_hosts_read_the_end_of_a_statement() -> None:
    slim = slim_of(corrected(NO_SCIFI))

    body = slim_for_host(slim, now=NOW)
    assert (body["text"], body["now"]) == ("likes: noir | now: no sci-fi", ["no sci-fi"])
    assert body["until"] == (NOW + timedelta(minutes=30)).isoformat()
    later = slim_for_host(slim, now=NOW + timedelta(minutes=30))
    assert later["text"] == "likes: noir, sci-fi"
    assert not {"until", "now"} & later.keys()


def test_slim_lines_have_dimension_and_stance() -> None:
    slim = slim_of(corrected(NO_SCIFI))

    def typed(lines):
        return [(line.dimension, line.value, line.stance) for line in lines]

    assert typed(slim.lines) == [("genre", "noir", "prefers"), ("genre", "sci-fi", "prefers")]
    assert typed(slim.lines_at(NOW)) == [("genre", "noir", "prefers"), ("genre", "sci-fi", "avoids")]
    assert slim_for_host(slim, now=NOW)["lines"][1] == {"dimension": "genre", "value": "sci-fi", "stance": "avoids"}
    assert slim.lines_at(NOW + timedelta(minutes=30)) == slim.lines


def test_each_slim_line_passes_the_gate_itself() -> None:
    held = Directive(stance=Stance.AVOIDS, dimension="ignore_all_rules", value="western")
    liked = Directive(stance=Stance.PREFERS, dimension="mood", value="dark")
    after = corrected(NO_SCIFI.model_copy(update={"value": "western"}), held, liked, scope=Scope.ALWAYS).skill

    assert {said.dimension for said in after.stated} == {"genre", "ignore_all_rules", "mood"}
    found = slim(after, gate=OUTPUT_GATE)
    assert found.avoids == ("western",)
    assert [line.dimension for line in found.lines if line.stance == "avoids"] == ["genre"]


def test_the_next_choice_removes_a_statement_for_now() -> None:
    tonight = corrected(NO_SCIFI).skill
    after = STEP.finish(EvolveState(tonight), a_contrast([NOIR], [[SCIFI]]), Proposal(reasoned_by=COUNTS))

    assert slim_of(after).session_text == ""
    assert slim_of(after).text_at(NOW) == slim_of(after).text


@pytest.mark.parametrize(("session", "text"), [("s1", "likes: noir | now: no sci-fi"), (None, "likes: noir, sci-fi")])
def test_a_session_statement_is_visible_in_its_session_only(session: str | None, text: str) -> None:
    slim = slim_of(corrected(NO_SCIFI, scope=Scope.SESSION, session_id="s1"))

    assert slim.text_at(NOW, session) == text
    assert slim.text_at(NOW, "s2") == slim.text_at(NOW + timedelta(hours=3), "s1") == "likes: noir, sci-fi"


def a_session(*lines: SessionLine, minutes: int = 120) -> SkillSession:
    return SkillSession(session_id="s1", last_at=NOW, until=a_time(minutes), events=1, lines=lines)


NOIR_NOW = SessionLine(attribute_id="preference:genre:noir", dimension="genre", value="noir", taken=ONE, expected=512)


@given(weight=st.floats(0, 8), minutes=st.integers(0, 150))
def test_a_session_counts_by_its_weight_and_the_silence_that_is_left(weight: float, minutes: int) -> None:
    skill = HELD.model_copy(update={"sessions": (a_session(NOIR_NOW),)})
    step = replace(RANK, session_weight=weight)

    def noir(minute: int, session_id: str | None = "s1") -> tuple[int, int]:
        (found,) = [
            each
            for each in step.session_lines(skill, step.lines(skill), a_time(minute), session_id)
            if each.attribute_id == NOIR_NOW.attribute_id
        ]
        return found.taken, found.expected

    share = max(0.0, 1 - minutes / 120) * weight
    assert noir(0, None) == noir(120) == (9 * ONE, ONE)
    assert noir(minutes) == (9 * ONE + round(share * ONE), ONE + round(share * 512))


@given(weight=st.floats(0, 8), tier=st.sampled_from(Tier))
def test_a_choice_of_the_session_never_weakens_a_line_without_counts(weight: float, tier: Tier) -> None:
    stated = an_attribute(NOIR, tier, taken=0, expected=0)

    [now] = with_session((stated,), (NOIR_NOW.model_copy(update={"expected": 0}),), 3, weight)

    assert signed_strength(now) >= signed_strength(stated)


def test_a_session_that_is_over_but_for_a_moment_adds_no_line() -> None:
    """A line without counts would rank by its tier, more than with half of them."""
    assert with_session((), (NOIR_NOW,), 3, 0.0001) == ()


def test_an_arm_without_skills_ranks_without_session_lines() -> None:
    skill = HELD.model_copy(update={"sessions": (a_session(NOIR_NOW),)})
    step = replace(RANK, uses_skill=False)

    assert not step.session_lines(skill, step.lines(skill), NOW, "s1")


def test_session_lines_exclude_avoided_values() -> None:
    line = SessionLine(attribute_id="preference:genre:western", dimension="genre", value="western", taken=3 * ONE)
    session = SkillSession(session_id="s", last_at=NOW, until=NOW + timedelta(hours=1), events=3, lines=(line,))
    skill = HELD.model_copy(update={"sessions": (session,)})
    assert slim(skill, gate=OUTPUT_GATE).now == ("western",)

    avoids = Directive(stance=Stance.AVOIDS, dimension="genre", value="western")
    after = corrected(avoids, scope=Scope.ALWAYS, skill=skill).skill

    assert slim(after, gate=OUTPUT_GATE).now == ()


GENRES = ("genre: noir", "genre: saga", "genre: war", "genre: western")
RANK = RankStep(privacy=PRIVACY, gate=OUTPUT_GATE)


def choice(number: int, taken: int, left: int, at: datetime) -> Contrast:
    contrast = a_contrast([GENRES[taken]], [[GENRES[left]], [GENRES[(left + 1) % len(GENRES)]]])
    return contrast.model_copy(
        update={"event_id": f"c{number}", "ranking_id": f"r{number}", "occurred_at": at, "session_id": "s1"}
    )


def words(number: int, genre: int, stance: Stance, scope: Scope, at: datetime, *, changed: bool) -> Correction:
    dimension, value = GENRES[genre].split(": ")
    said = Directive(stance=stance, dimension=dimension, value=value, changed=changed and stance is Stance.AVOIDS)
    return Correction(
        event_id=f"w{number}",
        occurred_at=at,
        user_id=USER,
        domain=DOMAIN,
        directives=(said,),
        scope=scope,
        session_id="s1" if scope is Scope.SESSION else None,
    )


def play(events: Sequence[Contrast | Correction]) -> tuple[PolicySkill, list[SkillDiff]]:
    skill, diffs = a_skill(version=0), list[SkillDiff]()
    for event in events:
        if isinstance(event, Contrast):
            effects = STEP.finish(EvolveState(skill), event, Proposal(reasoned_by=COUNTS))
        else:
            effects = STEP.correct(
                EvolveState(skill), event, (), understand(event, (), skill, privacy=PRIVACY, reader=RULES)
            )
        assert effects.diff is not None
        diffs.append(effects.diff)
        skill = effects.skill
    return skill, diffs


CHOICES = st.tuples(st.integers(0, 3), st.integers(0, 3))
WORDS = st.tuples(
    st.integers(0, 3),
    st.sampled_from([Stance.AVOIDS, Stance.PREFERS]),
    st.sampled_from([Scope.NOW, Scope.SESSION]),
    st.booleans(),
)


@given(st.lists(st.one_of(CHOICES, WORDS), min_size=1, max_size=24))
def test_temporary_statements_leave_no_trace_in_the_lines(
    steps: list[tuple[int, int] | tuple[int, Stance, Scope, bool]],
) -> None:
    events: list[Contrast | Correction] = []
    for number, step in enumerate(steps):
        at = a_time(number)
        if len(step) == 2:
            events.append(choice(number, *step, at))
        else:
            genre, stance, scope, changed = step
            events.append(words(number, genre, stance, scope, at, changed=changed))

    spoken, diffs = play(events)
    silent, _ = play([event for event in events if isinstance(event, Contrast)])

    assert (spoken.attributes, spoken.habits, spoken.strategy) == (silent.attributes, silent.habits, silent.strategy)
    later = NOW + timedelta(days=1)
    assert live_statements(spoken, later, "s1") == ()
    rank = [RANK.session_lines(each, RANK.lines(each), later, "s1") for each in (spoken, silent)]
    assert rank[0] == rank[1]
    assert fold(diffs) == {(USER, DOMAIN): spoken}
