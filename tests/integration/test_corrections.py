"""What a person says, through the real stream: the next ranking goes by it and says so, whatever is on its way."""

from typing import Any

import pytest

from schemas import SkillDiff, SlimSkill
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


def test_once_a_correction_has_its_version_every_ranking_honours_it(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    harness.events.correct("ann", "films", items=SHOWN, says=[NO_HORROR])
    harness.count(SkillDiff, 1)

    for _ in range(3):
        ranking = harness.events.rank("ann", "films", SHOWN, seconds=60)
        assert told(ranking) == (STATEMENT,)
        assert ranking.candidates[-1].item_id == "horror"

    other = harness.events.rank("bob", "films", SHOWN, seconds=60)
    assert told(other) == (), "nobody else is told what to do"
    harness.until(lambda out: any(short.avoids for short in out.values(SlimSkill)), "a slim skill that says so")
    harness.quiet()
    harness.assert_all_stores_agree()


def test_a_question_comes_with_a_ranking_and_its_answer_is_honoured(harness: Harness) -> None:
    harness.worker()
    ranking = harness.events.rank("ann", "films", SHOWN, clarify=True, seconds=60)
    fit = ranking.injected.fit
    assert fit is not None
    assert fit.question is not None
    assert fit.question.dimension == "genre"

    harness.events.answer(ranking, fit.question.options[0].value)
    harness.count(SkillDiff, 1)
    again = harness.events.rank("ann", "films", SHOWN, seconds=60)

    assert told(again) == (f"prefers:{fit.question.options[0].attribute_id}",)
    assert again.candidates[0].item_id == fit.question.options[0].value
