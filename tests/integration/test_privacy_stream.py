"""Privacy on the way through: nothing personal on our topics or in DuckDB, and a wish leaves nothing to learn from."""

import json

import pytest

from schemas import Contrast, SkillDiff
from tests.harness import Harness

pytestmark = [pytest.mark.broker, pytest.mark.on("embedded")]

SAID = (
    "something dark, send it to anna@example.org",
    "do not remember this: something silly",
    "a gift for my mother",
    "something dark again",
)


@pytest.mark.thorough
def test_a_worker_keeps_what_is_private_to_itself(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    shown = [
        {"item_id": "a", "title": "A", "metadata": {"genre": ["noir"], "about": "diabetic"}},
        {"item_id": "b", "title": "B", "metadata": {"genre": ["comedy"]}},
    ]

    for said in SAID:
        ranking = harness.events.ranking("ann", "shop", shown, instruction=said)
        harness.events.selection(ranking, "a")
    harness.events.flush()

    outputs = harness.count(SkillDiff, 2)
    harness.quiet()
    contrasts = outputs.values(Contrast)
    assert [contrast.instruction for contrast in contrasts] == ["something dark, send it to [e-mail]", SAID[3]]
    [skill] = harness.skills().values()
    assert {line.attribute_id for line in skill.attributes} == {"preference:genre:noir"}
    assert outputs.dead_letters == []
    rows = harness.duckdb("SELECT instruction FROM rankings", lambda found: len(found) == len(SAID))
    kept = json.dumps([rows, [contrast.model_dump(mode="json") for contrast in contrasts]])
    assert not [word for word in ("anna@", "diabetic", "silly") if word in kept]
