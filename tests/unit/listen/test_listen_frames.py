"""Frames in which people tell what they like in passing, such as `my love for`; and which values are whole."""

import pytest

from operators.language.finding import Effect
from schemas.statements import Stance
from tests.unit.listen.listen_builders import heard, turn

IN_PASSING = (
    ("My passion for mending kites has always driven me.", "mending kites"),
    ("I remain passionate about choral music.", "choral music"),
    ("I find myself drawn to lighthouse stories.", "lighthouse stories"),
    ("I wanted to share that I love canal boats.", "canal boats"),
    ("I've been volunteering at a bird refuge on weekends.", "volunteering at a bird refuge"),
    ("I also make it a point to visit flea markets.", "visiting flea markets"),
    ("My love for bare, minimalist rooms reflects that.", "bare, minimalist rooms"),
    ("I've been spending my evenings digging into star maps.", "digging into star maps"),
    ("I've been dedicating a lot of energy to wood carving.", "wood carving"),
    ("Meine Liebe zu alten Uhren soll darin vorkommen.", "alten Uhren"),
)
NOT_IN_PASSING = (
    "My sister's love for opera is known.",
    "Show my interest in joining the board.",
    "Show my commitment to excellence.",
    "Show my passion for the role.",
    "My love for opera has faded.",
    "Stop mentioning my love for opera.",
    "I am deeply committed to delivering results.",
    "I remain dedicated to the good of our club.",
    "Show my dedication to promoting fairness.",
    "I need to change my daily work routine.",
    "I took my usual medication this morning.",
    "Write a poem about my love for the sea.",
    "I cherish the friends I adore.",
    "I've been watching a film with my dog.",
    "Thanks, I love the enthusiasm you have for opera.",
)
WHOLE = (
    ("I love quiet, candlelit restaurants.", "quiet, candlelit restaurants"),
    ("I enjoy using fresh, organic herbs.", "using fresh, organic herbs"),
    ("I love spicy, because it wakes me up.", "spicy"),
    ("I love simple, I think.", "simple"),
    ("I prefer simple, honest food and quiet, cosy rooms.", "simple, honest food and quiet, cosy rooms"),
    ("I love old, new and modern mosaics.", "old, new and modern mosaics"),
    ("I begin my mornings with peppermint tea that fuels my day.", "peppermint tea"),
    ("I prefer to keep evenings open and quiet.", "keeping evenings open and quiet"),
    ("I collect some old maps.", "old maps"),
    ("I adore mosaics that", "mosaics"),
    ("I love pottery, it calms me.", "pottery"),
)
NOTHING = (
    "I really value things that are well made.",
    "I believe in building things that are bold.",
    "I love future sessions.",
    "I enjoy similar events.",
    "I love working in this field.",
    "I usually opt for things that let me rest.",
    "I find myself lost in thought.",
    "I've been spending most of my time at the office.",
    "The small moments I treasure are many.",
    "I have been collaborating with artists every month.",
)


@pytest.mark.parametrize(("sentence", "value"), IN_PASSING)
def test_what_is_told_in_passing_is_heard(sentence: str, value: str) -> None:
    assert value in [finding.value for finding in heard(turn(sentence)).findings]


@pytest.mark.parametrize("sentence", NOT_IN_PASSING)
def test_what_only_looks_so_is_not(sentence: str) -> None:
    assert [finding.value for finding in heard(turn(sentence)).findings if finding.effect is Effect.STATES] == []


@pytest.mark.parametrize(("sentence", "value"), WHOLE)
def test_a_value_is_whole(sentence: str, value: str) -> None:
    assert [finding.value for finding in heard(turn(sentence)).findings] == [value]


@pytest.mark.parametrize("sentence", NOTHING)
def test_a_value_that_names_nothing_by_itself_is_none(sentence: str) -> None:
    assert heard(turn(sentence)).findings == ()


def test_a_thing_that_one_skips_is_avoided() -> None:
    assert [(finding.value, finding.stance) for finding in heard(turn("I usually skip parades.")).findings] == [
        ("parades", Stance.AVOIDS)
    ]
