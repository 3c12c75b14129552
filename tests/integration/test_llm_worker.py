"""The worker with the `llm` reasoner against a real HTTP endpoint: good, slow, broken, busy and failing."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas import Action, SkillCommand, SkillDiff
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


def prompt_of(harness: Harness, *words: str, **more: str) -> tuple[int, str, str]:
    own = {
        "SAGER_BOOTSTRAP": harness.settings.bootstrap,
        "SAGER_PREFIX": harness.settings.prefix,
        "SAGER_DATA_DIR": str(harness.settings.data_dir),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-P", "-m", "streams.cli", "policy", "prompt", *words, "--domain", "films"]
    done = subprocess.run(command, env={**os.environ, **own, **more}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


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


def test_a_prompt_is_put_together_again_from_the_log_and_kafka(harness: Harness) -> None:
    with threaded(OpenAiServer()) as server:
        harness.worker(**llm_settings(server.base_url))
        harness.materializer()
        choose(harness, 8)
        outputs = harness.count(SkillDiff, 8)
        prompts = list(server.prompts)
    diff = next(d for d in outputs.diffs if d.version == 2 and d.reasoned_by.prompt_hash)
    harness.duckdb("SELECT count(*) FROM skill_diffs", lambda rows: rows == [(8,)])

    code, out, err = prompt_of(harness, diff.user_id, "2", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["is_same"], told["skill_version"]) == (True, 1)
    assert told["prompt"] in prompts
    assert told["prompt_hash"] == told["recorded_hash"] == diff.reasoned_by.prompt_hash
    assert prompt_of(harness, diff.user_id, "2")[1] == told["prompt"]

    code, out, err = prompt_of(harness, diff.user_id, "2", SAGER_VOUCHED_BY_SHAPE="false")
    assert (code, out != told["prompt"], "this is not what was sent" in err) == (1, True, True), err
    code, out, err = prompt_of(harness, diff.user_id, "9")
    assert (code, out, "has no version 9" in err) == (1, "", True), err

    person = {"user_id": diff.user_id, "domain": "films", "actor": "advocate"}
    harness.send(SkillCommand(event_id="stop", occurred_at=datetime.now(UTC), action=Action.FREEZE, **person))
    harness.count(SkillDiff, 9)
    harness.duckdb("SELECT count(*) FROM skill_diffs", lambda rows: rows == [(9,)])
    code, out, err = prompt_of(harness, diff.user_id, "3")
    assert (code, out) == (1, "")
    assert "no model was asked for version 3: it was made by command by advocate" in err
