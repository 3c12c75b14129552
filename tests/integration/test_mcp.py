"""An agent by MCP on the real pipeline: what it records changes the skill that it reads, for its own person alone."""

import asyncio
import time
from typing import Any

import pytest
from mcp import Client

from schemas import Ranking, Selection, SkillDiff
from streams.http import tokens
from streams.local.broker import free_port
from tests.builders import film
from tests.harness import Harness
from tests.unit.mcp.mcp_world import SCOPES, over_stdio
from tests.waiting import WAIT_SECONDS, ask

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker, pytest.mark.thorough]

WESTERN = "Western"
ROUNDS = 12


def list_of(number: int) -> list[dict[str, Any]]:
    return [film(6 * number + place) for place in range(6)]


def western_of(films: list[dict[str, Any]]) -> str:
    return next(each["item_id"] for each in films if each["metadata"]["genres"][0] == WESTERN)


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's structured answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def until(client: Client, tool: str, done: Any, **arguments: Any) -> dict[str, Any]:
    give_up = time.monotonic() + WAIT_SECONDS
    while True:
        result = await client.call_tool(tool, arguments)
        found = result.structured_content or {}
        if not result.is_error and done(found):
            return found
        assert time.monotonic() < give_up, result.content
        await asyncio.sleep(0.3)


async def test_what_an_agent_records_changes_what_it_reads(harness: Harness) -> None:
    own, of_ann = tokens.new_token("ann's agent", SCOPES, "ann", None)
    file = harness.settings.data_dir / "tokens.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(tokens.token_toml(of_ann))
    port, health = free_port(), free_port()
    harness.worker()
    harness.materializer()
    more = {"http_tokens": file, "http_port": port, "http_wait_seconds": 60, "metrics_port": health, "http_rate": 1e3}
    harness.start("serve", **more)
    harness.until(lambda _: ask(health, "/ready")[0] == 200, "the API to be ready")

    async with over_stdio(f"http://127.0.0.1:{port}", own, "--domain", "films") as agent:
        before = await called(agent, "get_slim_skill", request="something for tonight")
        assert not before["known"]

        for number in range(ROUNDS):
            shown = list_of(number)
            choice: dict[str, Any] = {"shown": shown, "taken": [western_of(shown)], "key": f"choice {number}"}
            first = await called(agent, "record_shown_and_taken", **choice)
        again = await called(agent, "record_shown_and_taken", **choice)
        assert (first["ranking_id"], first["accepted"]) == (again["ranking_id"], 2)

        # The likes are stated before the style: read the text when all choices are learned.
        await asyncio.to_thread(harness.quiet)
        slim = await until(agent, "get_slim_skill", lambda told: "western" in told.get("text", ""))
        assert slim["skill_version"] >= 1

        shown = list_of(ROUNDS)
        ranked = await called(agent, "rank_candidates", candidates=shown, request="something for tonight")
        assert ranked["order"][0] == western_of(shown)
        assert ranked["slim_skill"] == slim["text"]
        taken = {"ranking_id": ranked["ranking_id"], "taken": [ranked["order"][0]], "key": "the ranked one"}
        assert (await called(agent, "record_shown_and_taken", **taken))["accepted"] == 1
        asked = await called(agent, "rank_candidates", candidates=list_of(ROUNDS + 1), clarify=True)
        assert len(asked["order"]) == 6

        said = await called(agent, "record_correction", text="no horror, please")
        assert (said["carried_out"], said["understood"]) == (True, True)
        told = await until(agent, "list_lines", lambda found: "Stated by the person" in found.get("markdown", ""))
        assert "avoids horror (genre)" in told["markdown"]

    out = harness.quiet()
    assert {each.user_id for model in (Ranking, Selection, SkillDiff) for each in out.values(model)} == {"ann"}
    assert len({each.ranking_id for each in out.values(Selection)}) == ROUNDS + 1
    assert not out.dead_letters
    assert "ann" not in (harness.settings.data_dir / "serve.log").read_text()
