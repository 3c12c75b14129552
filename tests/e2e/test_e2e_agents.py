"""docs/examples/agents, each run as a reader would, with the real API and an endpoint that speaks OpenAI's protocol.

The frameworks are in an environment of their own, which `make agents` makes.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openai_server import Act, OpenAiServer, threaded
from tests.unit.mcp.mcp_world import SCOPES, World, a_world

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples" / "agents").glob("*.py"))
PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
AGENTS = ROOT / ".venv-agents"
REQUIRED = "SAGER_TEST_REQUIRE_AGENTS"
MOST_LINES = 10
WITH_MCP = 11
"""Its `async` takes a line."""
SECONDS = 120
ANSWER = "Chinatown, as it is film noir."
TASTE = "<taste>likes: film noir</taste>"


def lines_of(example: Path) -> list[str]:
    """The lines of code, without the text at the top."""
    code = example.read_text(encoding="utf-8")
    first = ast.parse(code).body[1].lineno - 1
    return [line for line in code.splitlines()[first:] if line.strip()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_ten_lines_and_stands_on_the_page(example: Path) -> None:
    assert len(lines_of(example)) <= (WITH_MCP if example.stem == "mcp_tools" else MOST_LINES)
    assert f"(examples/agents/{example.name})" in PAGE


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    if not (AGENTS / "ready").exists():
        assert not os.environ.get(REQUIRED), "`make agents` has not been run"
        pytest.skip("the agent frameworks are not installed here: `make agents`")
    with a_world() as served:
        yield served


def run(example: Path, world: World, endpoint: OpenAiServer) -> str:
    """What an example prints, with no other knowledge than its environment."""
    done = subprocess.run(
        [AGENTS / "bin" / "python", example],
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",  # `sager` is installed there
            "SAGER_URL": world.url,
            "SAGER_TOKEN": world.tokens.make(*SCOPES, user="ann"),
            "OPENAI_BASE_URL": endpoint.base_url,
            "OPENAI_API_KEY": "none",
            # Nothing is sent to whoever made a framework.
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "LANGCHAIN_TRACING_V2": "false",
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.stem != "mcp_tools"], ids=lambda file: file.stem)
def test_a_framework_puts_the_taste_into_its_prompt(world: World, example: Path) -> None:
    with threaded(OpenAiServer(Act(says={"text": ANSWER}))) as endpoint:
        printed = run(example, world, endpoint)

    (asked,) = endpoint.bodies
    assert printed.strip() == ANSWER
    assert [TASTE in str(message["content"]) for message in asked["messages"]] == [True, False]


def test_an_agent_with_mcp_asks_for_the_taste_itself(world: World) -> None:
    example = ROOT / "docs/examples/agents/mcp_tools.py"
    call = {"call": "get_slim_skill", "arguments": {"domain": "films"}, "text": ANSWER}

    with threaded(OpenAiServer(Act(says=call))) as endpoint:
        printed = run(example, world, endpoint)

    first, second = endpoint.bodies
    assert printed.strip() == ANSWER
    assert len(first["tools"]) == 7
    assert "film noir" not in str(first["messages"])
    assert "likes: film noir" in next(str(each["content"]) for each in second["messages"] if each["role"] == "tool")
