"""A statement changes no learned line: streams of choices, with and without words for now (invariant 5)."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import COUNTS, Proposal
from operators.language.corrections import understand
from operators.learning.fold import fold
from operators.stated import live_statements
from operators.steps import EvolveState, EvolveStep
from operators.steps.rank import RankStep
from schemas import Contrast, Correction, Directive, PolicySkill, Scope, SkillDiff, Stance
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, USER, a_contrast, a_skill, a_time

GENRES = ("genre: noir", "genre: saga", "genre: war", "genre: western")
STEP, RANK = (
    EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE),
    RankStep(privacy=PRIVACY, gate=OUTPUT_GATE),
)


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
def test_words_for_now_leave_the_lines_of_the_stream_without_them_once_they_end(
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
