"""README followed to the letter: a person's words are understood, by every worker, also after a restart."""

import json
from typing import Any

import pytest

from sager_client import EventProducer
from schemas import Contrast, SkillDiff
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


def test_the_words_of_the_readme_are_understood(harness: Harness) -> None:
    """Horror is no genre of its three films: the closed vocabulary of the films' parser has it."""
    harness.worker()
    choose(harness.events, "films", SHOWN)
    harness.count(Contrast, 1)

    answer = harness.events.correct("ann", "films", "no horror, please", wait=WAIT)

    assert (answer.understood, answer.why, answer.not_kept) == (True, "", ())
    assert [(each.stance.value, each.value) for each in answer.statements] == [("avoids", "horror")]


def test_another_worker_and_a_restarted_one_understand_the_same(harness: Harness) -> None:
    """No closed vocabulary has tofu: the person was shown it once, in a list from which they took something else."""
    first = harness.worker()
    choose(harness.events, "dinners", DISHES)
    harness.count(SkillDiff, 1)
    harness.kill(first)

    harness.worker("another")
    answer = harness.events.correct("ann", "dinners", "I am allergic to tofu", wait=WAIT)

    assert answer.understood
    assert [(each.value, each.words) for each in answer.statements] == [("tofu", "")]
    assert answer.not_kept == ("health",), "the person reads which data were not kept"
    assert all("allerg" not in json.dumps(diff.model_dump(mode="json")) for diff in harness.count(SkillDiff, 2).diffs)
    harness.quiet()
    harness.assert_all_stores_agree(duckdb=False)


def test_words_that_are_not_understood_are_answered_with_an_example(harness: Harness) -> None:
    harness.worker()

    answer = harness.events.correct("bob", "films", "I like zyxquill", wait=WAIT)
    example = answer.explanation.rpartition("Say “")[2].partition("”")[0]
    again = harness.events.correct("bob", "films", example, wait=WAIT)

    assert (answer.understood, answer.why) == (False, "unknown-name")
    assert again.understood, answer.explanation


def test_a_taste_that_several_people_share_can_be_named_by_a_newcomer(harness: Harness) -> None:
    harness.worker()
    others = [{**dish, "item_id": f"{dish['item_id']}-2"} for dish in DISHES]
    for user in ("ann", "bob", "cyd"):
        for dishes in (DISHES, others):
            ranking = harness.events.ranking(user, "dinners", dishes)
            harness.events.selection(ranking, dishes[1]["item_id"])
    harness.count(SkillDiff, 6)
    harness.quiet(3.0)

    answer = harness.events.correct("newcomer", "dinners", "no tofu", wait=WAIT)

    assert answer.understood, answer.explanation
