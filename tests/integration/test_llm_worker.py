"""The worker with the `llm` reasoner against a real HTTP endpoint: good, slow, broken, busy and failing."""

from typing import Any

import pytest

from schemas import DeadLetter, SkillDiff
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


@pytest.mark.thorough
def test_one_users_contrasts_keep_their_order_while_calls_overlap(harness: Harness) -> None:
    with threaded(OpenAiServer(always=Act(delay=0.3))) as server:
        harness.worker(**llm_settings(server.base_url))
        choose(harness, 32)
        outputs = harness.count(SkillDiff, 32)
        peak = server.peak

    for user in {d.user_id for d in outputs.diffs}:
        mine = sorted((d for d in outputs.diffs if d.user_id == user), key=lambda d: d.version)
        assert [d.version for d in mine] == list(range(1, 9))
        assert [d.occurred_at for d in mine] == sorted(d.occurred_at for d in mine)
    assert 1 < peak <= USERS


@pytest.mark.seldom
def test_an_outage_waits_when_told_to(harness: Harness) -> None:
    with threaded(OpenAiServer()) as server:
        server.then(*[Do.FAIL] * 12)
        harness.worker(**llm_settings(server.base_url, on_llm_failure="wait", llm_attempts=1))
        choose(harness, 8)
        outputs = harness.count(SkillDiff, 8)

    assert {d.reasoned_by.reasoner for d in outputs.diffs} == {"llm"}
    assert outputs.dead_letters == []


@pytest.mark.seldom
def test_an_outage_dead_letters_when_told_to(harness: Harness) -> None:
    with threaded(OpenAiServer(always=Act(Do.FAIL))) as server:
        harness.worker(**llm_settings(server.base_url, on_llm_failure="dead-letter", llm_attempts=1))
        choose(harness, 4)
        outputs = harness.count(DeadLetter, 4)

    assert {letter.reason for letter in outputs.dead_letters} == {"reasoner-unavailable"}
    assert outputs.values(SkillDiff) == []
