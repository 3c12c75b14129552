"""A deployment as docker-compose.yml configures its processes: they agree on erased events."""

from datetime import UTC, datetime

import pytest

from infra.compose import services
from schemas import Ranking, Selection, SkillDiff
from streams import shared_settings
from tests.builders import slate
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

KEY = "a key of more than thirty-two characters"


@pytest.mark.thorough
def test_erased_events_that_are_sent_again_with_new_times_get_no_row(harness: Harness) -> None:
    given = services({"SAGER_CHAIN_KEY": KEY})

    def own(service: str) -> dict[str, str]:
        variables = {name: f"SAGER_{name.upper()}" for name in shared_settings.ALL}
        return {name: KEY for name, each in variables.items() if given[service].environment.get(each) == KEY}

    harness.worker(**own("worker"))
    harness.start("materialize", **own("materializer"))
    sent: list[Ranking | Selection] = []
    for number in range(3):
        ranking = harness.events.ranking("ann", "films", slate(number))
        selection = harness.events.selection(
            user_id="ann", ranking_id=ranking.ranking_id, item_id=ranking.candidates[0].item_id
        )
        sent += [
            Ranking.model_validate_json(ranking.model_dump_json()),
            Selection.model_validate_json(selection.model_dump_json()),
        ]
    harness.events.flush()
    harness.count(SkillDiff, 3)
    harness.forget("ann")

    for event in sent:
        harness.send(event.model_copy(update={"occurred_at": datetime.now(UTC)}))
    after = harness.events.ranking("ben", "films", slate(1))
    harness.events.selection(user_id="ben", ranking_id=after.ranking_id, item_id=after.candidates[0].item_id)
    harness.events.flush()
    harness.quiet()
    users = "SELECT DISTINCT user_id FROM rankings UNION SELECT DISTINCT user_id FROM selections"

    assert harness.duckdb(users, lambda rows: rows == [("ben",)]) == [("ben",)]
