"""What a person says, through the real stream: the next ranking goes by it and says so, whatever is on its way."""

from typing import Any

import pytest

from schemas import SlimSkill
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

GENRES = ("horror", "comedy", "western", "musical", "thriller")
SHOWN: list[dict[str, Any]] = [
    {"item_id": genre, "title": genre.title(), "metadata": {"genre": genre}} for genre in GENRES
]
NO_HORROR = {"stance": "avoids", "dimension": "genre", "value": "horror"}
STATEMENT = "avoids:preference:genre:horror"


def told(ranking: Any) -> tuple[str, ...]:
    """The statements that a ranking went by."""
    fit = ranking.injected.fit
    return () if fit is None else fit.honoured


def learned(shared: Harness, user: str) -> None:
    """Wait until the user's skill has a version."""
    shared.until(lambda out: any(diff.user_id == user for diff in out.diffs), f"a version of {user}'s skill")


def test_once_a_correction_has_its_version_every_ranking_honours_it(shared: Harness) -> None:
    shared.events.correct("ann", "films", items=SHOWN, says=[NO_HORROR])
    learned(shared, "ann")

    for _ in range(3):
        ranking = shared.events.rank("ann", "films", SHOWN, seconds=60)
        assert told(ranking) == (STATEMENT,)
        assert ranking.candidates[-1].item_id == "horror"

    other = shared.events.rank("bob", "films", SHOWN, seconds=60)
    assert told(other) == (), "nobody else is told what to do"
    shared.until(lambda out: any(short.avoids for short in out.values(SlimSkill)), "a slim skill that says so")
    shared.quiet()
    shared.assert_all_stores_agree()


def test_a_question_comes_with_a_ranking_and_its_answer_is_honoured(shared: Harness) -> None:
    ranking = shared.events.rank("bea", "films", SHOWN, clarify=True, seconds=60)
    fit = ranking.injected.fit
    assert fit is not None
    assert fit.question is not None
    assert fit.question.dimension == "genre"

    shared.events.answer(ranking, fit.question.options[0].value)
    learned(shared, "bea")
    again = shared.events.rank("bea", "films", SHOWN, seconds=60)

    assert told(again) == (f"prefers:{fit.question.options[0].attribute_id}",)
    assert again.candidates[0].item_id == fit.question.options[0].value
