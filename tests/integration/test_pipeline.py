"""The spine, end to end: events in, and every store tells the same of what was learned."""

import pytest

from benchmarks.surroundings import reached_as
from sager_client import SlimSkills
from schemas import Contrast, Profile, SkillDiff, SlimSkill
from tests.builders import film, slate
from tests.harness import Harness

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker]

USERS = 12


def play_made_up(harness: Harness) -> tuple[int, int]:
    """Play made-up films: how many interactions and selections were sent."""
    for number in range(60):
        harness.events.interaction(f"user-{number % USERS}", "films", film(number))
    harness.events.flush()
    harness.count(Profile, 60)
    for number in range(120):
        shown = slate(number)
        ranking = harness.events.ranking(f"user-{number % USERS}", "films", shown)
        harness.events.selection(ranking, shown[number % 10]["item_id"])
    harness.events.flush()
    return 60, 120


def test_all_stores_agree_with_the_fold_of_the_log(harness: Harness) -> None:
    harness.worker()
    harness.materializer()

    past, selections = play_made_up(harness)

    outputs = harness.count(SkillDiff, selections)
    harness.quiet()
    assert len(outputs.values(Contrast)) == selections
    assert len(outputs.diffs) == selections
    assert outputs.dead_letters == []
    harness.assert_all_stores_agree()
    slims = {key: SlimSkill.model_validate_json(value) for key, value in outputs.newest(SlimSkill).items()}
    with SlimSkills(connection=reached_as(harness.settings)) as cache:
        for slim in slims.values():
            assert cache.get(slim.user_id, slim.domain) == slim.text
            assert slim.tokens <= harness.settings.slim_tokens
    assert len(harness.duckdb("SELECT event_id FROM interactions", lambda rows: len(rows) == past)) == past
