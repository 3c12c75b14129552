"""Multiple choice by card: claims that the card holds count for an answer, claims that it does not hold against it."""

import asyncio

import pytest

from evaluation.conversations.choices import Chosen, by_words, chosen_of, fit, ordered
from schemas.statements import Stance
from tests.unit.conversations.conversation_builders import card, element, forget, line, person_of, played, update

TEA = "Since you enjoy green tea, have a pot of it."
RUM = "Given your love of dark rum, order a glass."
NEUTRAL = "Ask what is fresh today."
ASKED = {"user_query": "What shall I order?"}


def chosen(*lines, answers=(RUM, NEUTRAL, TEA)):
    return answers[asyncio.run(by_words(card(*lines), "What shall I order?", answers))]


def test_an_answer_whose_claim_the_card_holds_is_chosen():
    assert chosen(line("green tea")) == TEA
    assert chosen(line("dark rum")) == RUM


def test_an_answer_that_claims_what_the_card_does_not_hold_is_not_chosen():
    assert chosen() == NEUTRAL
    assert chosen(line("kites")) == NEUTRAL


def test_an_answer_with_what_somebody_avoids_is_not_chosen():
    answers = ("Have some coriander soup.", "Have some tomato soup.")

    assert chosen(line("coriander", Stance.AVOIDS), answers=answers) == answers[1]
    assert chosen(line("coriander"), answers=answers) == answers[0]


def test_german_claims_are_understood():
    answers = ("Da du Horrorfilme magst, sieh dir diesen an.", "Da du Stummfilme magst, sieh dir jenen an.")

    assert chosen(line("Stummfilme"), answers=answers) == answers[1]


def test_answers_that_fit_alike_are_drawn_and_always_the_same():
    answers = tuple(f"Answer number {place}." for place in range(4))

    assert {fit(answers, place, ()) for place in range(4)} == {0}
    assert len({chosen(answers=answers) for _ in range(3)}) == 1


@pytest.mark.parametrize("lines", [(), (line("green tea"),)])
def test_questions_are_counted_by_whom_they_are_about(lines):
    who = person_of(
        element("Enjoys green tea", "Tea.", **ASKED, correct_answer=TEA, incorrect_answers=[RUM, NEUTRAL]),
        element("Loves rum", "Him.", who="others", **ASKED, correct_answer=NEUTRAL, incorrect_answers=[RUM]),
        element("Likes kites", "Kites."),
        update("Likes kites a lot", "Likes kites", "Kites!")
        | {**ASKED, "correct_answer": NEUTRAL, "incorrect_answers": [RUM]},
        forget("Likes kites a lot", "Forget it.") | {**ASKED, "correct_answer": NEUTRAL, "incorrect_answers": [RUM]},
    )

    told = asyncio.run(chosen_of(played(who, *lines))).shares()

    assert set(told) == {"self", "others", "forgotten", "all"}, "what was overtaken or forgotten is asked about no more"
    known = {"right_if_all_known": 1.0}
    assert told["self"] == {"asked": 1, "right": float(bool(lines)), "chance": 0.3333} | known
    assert told["others"] == {"asked": 1, "right": 1.0, "chance": 0.5} | known
    assert told["all"]["asked"] == 3


def test_the_order_of_answers_does_not_tell_the_right_one():
    places = []
    for number in range(60):
        asked = ASKED | {
            "correct_answer": f"Right {number}.",
            "incorrect_answers": [f"Wrong {number}.", f"No {number}."],
        }
        [talk] = person_of(element("Likes tea", "Tea.", **asked)).talks
        places.append(ordered(talk.question).index(f"Right {number}."))

    assert min(places.count(place) for place in range(3)) >= 8


def test_sums_of_choices_add_up():
    one, other = Chosen(), Chosen()
    for each in (one, other):
        each.asked["self"], each.right["self"], each.ideal["self"], each.chance["self"] = 2, 1, 2, 0.5
    one.add(other)

    assert one.shares()["all"] == {"asked": 4, "right": 0.5, "chance": 0.25, "right_if_all_known": 1.0}


@pytest.mark.parametrize(
    "claim",
    [
        "As a fan of green tea, have a pot of it.",
        "For someone who loves green tea, a pot of it is best.",
        "A pot of it would suit your love of green tea.",
        "Since you prefer quiet mornings and enjoy green tea, have a pot of it.",
        "Als Freund von green tea nimm eine Kanne.",
        "If you love green tea, have a pot of it.",
    ],
)
def test_claims_are_understood_in_every_form(claim):
    assert chosen(line("green tea"), answers=(RUM, NEUTRAL, claim)) == claim
    assert chosen(line("kites"), answers=(NEUTRAL, claim)) == NEUTRAL


def test_a_claim_of_the_opposite_stance_counts_against_its_answer():
    likes, avoids = "Since you enjoy green tea, have a pot of it.", "Since you avoid green tea, have some water."

    for answers in ((likes, avoids), (avoids, likes)):
        assert chosen(line("green tea"), answers=answers) == likes
        assert chosen(line("green tea", Stance.AVOIDS), answers=answers) == avoids


def test_an_answer_that_names_what_it_leaves_out_is_not_counted_against():
    answers = (
        "Since you avoid board games, I would leave out board games.",
        "Given your fondness for card games, play.",
    )

    assert chosen(line("board games", Stance.AVOIDS), line("card tricks"), answers=answers) == answers[0]
