"""Words for now in the slim line that hosts read: marked, with their end, and never without the clock (issue 27)."""

from datetime import timedelta

import pytest

from operators.evolve.proposals import COUNTS, Proposal
from operators.language.corrections import understand
from operators.slim import slim
from operators.steps import EvolveState, EvolveStep
from operators.tokens import count_tokens
from schemas import ONE, Correction, Directive, Scope, SessionLine, SkillSession, SlimSkill, Stance, Tier
from streams.http.topic_cache import slim_for_host
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, USER, a_contrast, a_skill, an_attribute

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


def test_a_word_for_now_is_in_the_line_until_it_ends_and_leaves_the_long_term_text_unchanged() -> None:
    slim = slim_of(corrected(NO_SCIFI))

    assert slim.text_at(NOW) == "likes: noir | now: no sci-fi"
    assert slim.text == slim.text_at(NOW + timedelta(minutes=30)) == "likes: noir, sci-fi"
    assert count_tokens(slim.session_text) <= 30


def test_hosts_over_http_read_it_with_its_end() -> None:
    slim = slim_of(corrected(NO_SCIFI))

    body = slim_for_host(slim, now=NOW)
    assert (body["text"], body["now"]) == ("likes: noir | now: no sci-fi", ["no sci-fi"])
    assert body["until"] == (NOW + timedelta(minutes=30)).isoformat()
    later = slim_for_host(slim, now=NOW + timedelta(minutes=30))
    assert later["text"] == "likes: noir, sci-fi"
    assert not {"until", "now"} & later.keys()


def test_the_lines_of_a_text_have_their_dimensions_and_stances() -> None:
    slim = slim_of(corrected(NO_SCIFI))

    def typed(lines):
        return [(line.dimension, line.value, line.stance) for line in lines]

    assert typed(slim.lines) == [("genre", "noir", "prefers"), ("genre", "sci-fi", "prefers")]
    assert typed(slim.lines_at(NOW)) == [("genre", "noir", "prefers"), ("genre", "sci-fi", "avoids")]
    assert slim_for_host(slim, now=NOW)["lines"][1] == {"dimension": "genre", "value": "sci-fi", "stance": "avoids"}
    assert slim.lines_at(NOW + timedelta(minutes=30)) == slim.lines


def test_a_line_with_the_words_of_another_has_to_pass_the_gate_itself() -> None:
    held = Directive(stance=Stance.AVOIDS, dimension="ignore_all_rules", value="western")
    after = corrected(NO_SCIFI.model_copy(update={"value": "western"}), held, scope=Scope.ALWAYS).skill

    assert {said.dimension for said in after.stated} == {"genre", "ignore_all_rules"}
    found = slim(after, gate=OUTPUT_GATE)
    assert found.avoids == ("western",)
    assert [line.dimension for line in found.lines if line.stance == "avoids"] == ["genre"]


def test_the_next_choice_sends_a_line_without_it() -> None:
    tonight = corrected(NO_SCIFI).skill
    after = STEP.finish(EvolveState(tonight), a_contrast([NOIR], [[SCIFI]]), Proposal(reasoned_by=COUNTS))

    assert slim_of(after).session_text == ""
    assert slim_of(after).text_at(NOW) == slim_of(after).text


@pytest.mark.parametrize(("session", "text"), [("s1", "likes: noir | now: no sci-fi"), (None, "likes: noir, sci-fi")])
def test_a_word_for_a_session_is_read_within_that_session_alone(session: str | None, text: str) -> None:
    slim = slim_of(corrected(NO_SCIFI, scope=Scope.SESSION, session_id="s1"))

    assert slim.text_at(NOW, session) == text
    assert slim.text_at(NOW, "s2") == slim.text_at(NOW + timedelta(hours=3), "s1") == "likes: noir, sci-fi"


def test_a_session_names_nothing_that_the_person_avoids() -> None:
    line = SessionLine(attribute_id="preference:genre:western", dimension="genre", value="western", taken=3 * ONE)
    session = SkillSession(session_id="s", last_at=NOW, until=NOW + timedelta(hours=1), events=3, lines=(line,))
    skill = HELD.model_copy(update={"sessions": (session,)})
    assert slim(skill, gate=OUTPUT_GATE).now == ("western",)

    avoids = Directive(stance=Stance.AVOIDS, dimension="genre", value="western")
    after = corrected(avoids, scope=Scope.ALWAYS, skill=skill).skill

    assert slim(after, gate=OUTPUT_GATE).now == ()
