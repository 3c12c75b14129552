"""The worker with the `llm` reasoner against a real HTTP endpoint: good, slow, broken, busy and failing."""

from typing import Any

import pytest

from schemas import SkillDiff
from tests.harness import Harness
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS = 4


def choose(harness: Harness, times: int) -> None:
    for number in range(times):
        shown = slate(number)
        ranking = harness.events.ranking(f"user-{number % USERS}", "films", shown, ranking_id=f"r{number}")
        harness.events.selection(ranking, shown[number % 10]["item_id"])
    harness.events.flush()


def llm_settings(url: str, **more: Any) -> dict[str, Any]:
    return {
        "reasoner": "llm",
        "llm_base_url": url,
        "llm_model": "test-model",
        "llm_timeout_seconds": 2.0,
        "llm_attempts": 2,
        "llm_retry_seconds": 0.3,
        "llm_breaker_seconds": 0.2,
        "llm_breaker_max_seconds": 0.5,
        **more,
    }


def test_every_contrast_evolves_through_a_troubled_endpoint(harness: Harness) -> None:
    troubles = [
        Act(Do.BREAK_JSON),
        Act(Do.TRUNCATE),
        Act(Do.RATE_LIMIT, retry_after="0.2"),
        Act(Do.FAIL),
        Act(Do.RESET),
        Act(Do.LIE),
        Act(Do.FENCE),
        Act(Do.WRONG_SCHEMA),
        Act(Do.ANSWER, delay=3.0),
    ]
    with threaded(OpenAiServer()) as server:
        server.then(*troubles)
        harness.worker(**llm_settings(server.base_url))
        choose(harness, 40)
        outputs = harness.count(SkillDiff, 40)

    assert outputs.dead_letters == []
    assert len(outputs.diffs) == 40
    by_llm = [d for d in outputs.diffs if d.reasoned_by.reasoner == "llm"]
    assert len(by_llm) >= 30
    asked = [d.reasoned_by for d in by_llm if d.reasoned_by.calls]
    assert all(r.model == "test-model" and r.prompt_hash and r.prompt_tokens for r in asked)
    fallen_back = [d for d in outputs.diffs if d.reasoned_by.reasoner == "rules"]
    assert all(d.reasoned_by.fallback for d in fallen_back)
    harness.assert_all_stores_agree(duckdb=False)
    chosen = {slate(n)[n % 10]["item_id"] for n in range(40)}
    discovered = [a for skill in harness.skills().values() for a in skill.attributes if a.source == "discovered"]
    assert discovered
    assert {evidence.item_id for a in discovered for evidence in a.evidence} <= chosen
