"""README followed to the letter: a person's words are understood, by every worker, also after a restart."""

from typing import Any

import pytest

from sager_client import EventProducer
from schemas import Contrast
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SHOWN: list[dict[str, Any]] = [
    {"item_id": "arrival", "title": "Arrival", "metadata": {"genres": ["Sci-Fi"], "year": 2016}},
    {"item_id": "amelie", "title": "Amélie", "metadata": {"genres": ["Romance"], "year": 2001}},
    {"item_id": "heat", "title": "Heat", "metadata": {"genres": ["Crime"], "year": 1995}},
]
DISHES: list[dict[str, Any]] = [
    {"item_id": "curry", "title": "Curry", "metadata": {"cuisine": "indian", "ingredients": ["lentils", "rice"]}},
    {"item_id": "mapo", "title": "Mapo", "metadata": {"cuisine": "chinese", "ingredients": ["tofu", "chilli"]}},
]
WAIT = 90.0


def choose(events: EventProducer, domain: str, shown: list[dict[str, Any]]) -> None:
    """Take the first item of a list."""
    ranking = events.ranking("ann", domain, shown, "something to think about")
    events.selection(ranking, shown[0]["item_id"])


def test_the_words_of_the_readme_are_understood(shared: Harness) -> None:
    """Horror is no genre of its three films: the closed vocabulary of the films' parser has it."""
    choose(shared.events, "films", SHOWN)
    shared.count(Contrast, 1)

    answer = shared.events.correct("ann", "films", "no horror, please", wait=WAIT)

    assert (answer.understood, answer.why, answer.not_kept) == (True, "", ())
    assert [(each.stance.value, each.value) for each in answer.statements] == [("avoids", "horror")]


def test_a_taste_that_several_people_share_can_be_named_by_a_newcomer(shared: Harness) -> None:
    others = [{**dish, "item_id": f"{dish['item_id']}-2"} for dish in DISHES]
    for user in ("ann", "bob", "cyd"):
        for dishes in (DISHES, others):
            ranking = shared.events.ranking(user, "dinners", dishes)
            shared.events.selection(ranking, dishes[1]["item_id"])
    shared.until(lambda out: sum(diff.domain == "dinners" for diff in out.diffs) == 6, "what six choices teach")
    shared.quiet(3.0)

    answer = shared.events.correct("newcomer", "dinners", "no tofu", wait=WAIT)

    assert answer.understood, answer.explanation
