"""The MCP server in front of the real API, called with the SDK's own client; its command line and stdout."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from typer.testing import CliRunner

from streams.cli import app
from streams.mcp import server
from tests.unit.http.http_world import card_of, follow, talks
from tests.unit.http.test_http_events import Kafka
from tests.unit.mcp.mcp_world import ORDER, SCOPES, World, a_world, command, in_memory


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as served:
        follow(served.served.api.cache, card_of(talks()))
        kafka = Kafka()
        served.served.api.sender = kafka  # type: ignore[assignment]
        served.kafka = kafka  # type: ignore[attr-defined]
        yield served


def text_of(result) -> str:
    return "".join(each.text for each in result.content)


async def test_a_users_token_reads_only_their_own_skill(world: World) -> None:
    films = {"domain": "films"}

    async with in_memory(world.url, world.tokens.make(*SCOPES, user="ann")) as client:
        slim = await client.call_tool("get_slim_skill", films | {"request": "a quiet one"})
        lines = await client.call_tool("list_lines", films)
        of_bob = [await client.call_tool(tool, films | {"user": "bob"}) for tool in ("get_slim_skill", "list_lines")]

    assert slim.structured_content["text"] == "likes: film noir"
    assert "**film noir**" in lines.structured_content["markdown"]
    assert lines.structured_content["held_back"] == 1
    assert "instruction" in text_of(lines), "that it is none"
    assert all(each.is_error and "lacks the scope" in text_of(each) for each in of_bob)
    assert ORDER.split()[0] not in text_of(slim) + text_of(lines)


async def test_every_tool_documents_its_use_result_and_effect(world: World) -> None:
    async with in_memory(world.url, world.tokens.make(*SCOPES, user="ann")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reading == {"get_slim_skill", "list_lines", "read_card"}
    assert not [name for name, tool in tools.items() if tool.annotations.destructive_hint]
    assert len(tools) == 7
    for tool in tools.values():
        assert "Call it" in (tool.description or "")
        assert tool.output_schema["properties"]
        assert not {"user", "domain"} & set(tool.input_schema.get("required", ())), "a scoped server needs neither"
        for parameter in tool.input_schema["properties"].values():
            assert parameter["description"]


async def test_a_server_with_a_user_and_a_domain_refuses_others(world: World) -> None:
    everybody = world.tokens.make(*SCOPES, user="*")

    async with in_memory(world.url, everybody, "ann", "films") as client:
        known = await client.call_tool("get_slim_skill", {})
        of_bob = await client.call_tool("get_slim_skill", {"user": "bob"})
        of_books = await client.call_tool("get_slim_skill", {"domain": "books"})
    async with in_memory(world.url, everybody) as client:
        unnamed = await client.call_tool("get_slim_skill", {"domain": "films"})
        named = await client.call_tool("get_slim_skill", {"domain": "films", "user": "bob"})
        nowhere = await client.call_tool("get_slim_skill", {"user": "bob"})

    assert known.structured_content["known"]
    assert "one user only" in text_of(of_bob)
    assert "the domain films only" in text_of(of_books)
    assert "name one in `user`" in text_of(unnamed)
    assert named.structured_content["text"] == "likes: film noir"
    assert "name the `domain`" in text_of(nowhere)


async def test_invalid_arguments_are_refused(world: World) -> None:
    async with in_memory(world.url, world.tokens.make(*SCOPES, user="ann")) as client:
        for tool, arguments in (
            ("get_slim_skill", {"domain": "../../token"}),
            ("get_slim_skill", {"domain": "films", "user": "a" * 300}),
            ("rank_candidates", {"domain": "films", "candidates": []}),
            ("rank_candidates", {"domain": "films", "candidates": [{"title": "no id"}]}),
            ("record_shown_and_taken", {"domain": "films"}),
            ("record_correction", {"domain": "films", "text": "  "}),
            ("no_such_tool", {}),
        ):
            try:
                assert (await client.call_tool(tool, arguments)).is_error, tool
            except MCPError as error:
                assert tool == "no_such_tool" or "nternal" not in str(error)  # noqa: PT017


# --- standard input and output


def test_stdout_carries_only_the_protocol(world: World) -> None:
    how = command(world.url, world.tokens.make(*SCOPES, user="ann"))
    asked = {"domain": "films", "user": "bob"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_slim_skill", "arguments": asked}},
    ]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([how.command, *how.args], env=how.env, cwd=how.cwd, **pipes)
    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
    process.stdin.flush()
    lines = [process.stdout.readline(), process.stdout.readline()]
    rest, message = process.communicate()

    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    assert rest == b""
    assert process.returncode == 0, "its host ends it by closing its input"
    assert b"bob" not in message


async def test_a_card_is_read_without_the_users_own_words(world: World) -> None:
    ann = world.tokens.make("read-slim", user="ann")

    async with in_memory(world.url, ann) as client:
        card = await client.call_tool("read_card", {"request": "dinner"})
        little = await client.call_tool("read_card", {"budget_tokens": 1})
        of_bob = await client.call_tool("read_card", {"user": "bob"})

    assert card.structured_content["known"]
    assert "does not like coriander" in card.structured_content["text"]
    assert "instruction" in card.structured_content["note"]
    assert "I can't stand" not in text_of(card)
    assert (little.structured_content["known"], little.structured_content["text"]) == (False, "")
    assert of_bob.is_error
    assert "lacks the scope" in text_of(of_bob)


async def test_each_turn_is_recorded_once(world: World) -> None:
    ann = world.tokens.make("produce", user="ann")
    world.kafka.sent.clear()  # type: ignore[attr-defined]

    async with in_memory(world.url, ann) as client:
        turn = {"conversation": "chat-7", "turn": 0, "text": "I'm vegetarian."}
        first = await client.call_tool("record_utterance", turn)
        again = await client.call_tool("record_utterance", turn)
        mine = await client.call_tool("record_utterance", {**turn, "turn": 1, "role": "assistant", "text": "Noted."})
        empty = await client.call_tool("record_utterance", {**turn, "turn": 2, "text": " "})
        last = await client.call_tool("record_utterance", {"conversation": "chat-7", "turn": 2, "ends": True})

    sent = world.kafka.sent  # type: ignore[attr-defined]
    assert first.structured_content["event_id"] == again.structured_content["event_id"] == sent[0].event_id
    assert [(each.turn, each.role.value, each.text, each.ends) for each in sent] == [
        (0, "user", "I'm vegetarian.", False),
        (0, "user", "I'm vegetarian.", False),
        (1, "assistant", "Noted.", False),
        (2, "user", "", True),
    ]
    assert not mine.is_error
    assert not last.is_error
    assert empty.is_error
    assert "refused" in text_of(empty)


async def test_a_reused_key_loses_no_choice_and_only_shown_items_are_taken(world: World) -> None:
    films = [{"item_id": name, "metadata": {"genres": [name]}} for name in ("noir", "western", "crime")]
    choice = {"domain": "films", "shown": films[:2], "taken": ["noir"], "key": "1"}
    world.kafka.sent.clear()  # type: ignore[attr-defined]

    async with in_memory(world.url, world.tokens.make("produce", user="ann")) as client:
        for _ in range(2):
            await client.call_tool("record_shown_and_taken", choice)
        await client.call_tool("record_shown_and_taken", choice | {"shown": films[1:], "taken": ["crime"]})
        other = await client.call_tool("record_shown_and_taken", choice | {"taken": ["noir", "crime"]})

    sent = world.kafka.sent  # type: ignore[attr-defined]
    assert len(sent) == 6
    assert len({each.event_id for each in sent}) == 4, "the retry has the ids of the first, the other list its own"
    assert len({each.ranking_id for each in sent}) == 2
    assert "'crime', which `shown` lacks" in text_of(other)


TOKEN = f"sager_{'x' * 43}"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(server, "run", lambda *arguments: found.append(arguments))
    return found


def run(*options: str, **env: str) -> Any:
    return CliRunner(env={"SAGER_TOKEN": "", **env}).invoke(app, ["mcp", *options])


def test_the_token_comes_from_the_option_the_environment_or_the_data_folder(
    started: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    for name in ("named", "token"):
        (tmp_path / name).write_text(f"{TOKEN[:-5]}{name:_>5}\n")

    assert run("--token-file", str(tmp_path / "named"), SAGER_TOKEN=TOKEN).exit_code == 0
    assert run(SAGER_TOKEN=TOKEN, SAGER_DATA_DIR=str(tmp_path)).exit_code == 0
    assert run("--user", "ann", SAGER_DATA_DIR=str(tmp_path), SAGER_MCP_DOMAIN="films").exit_code == 0

    assert [each[1][-5:] for each in started] == ["named", "xxxxx", "token"]
    assert started[2][2:] == ("ann", "films")
    assert started[2][0] == "http://127.0.0.1:8088"


@pytest.mark.parametrize(
    ("options", "env", "message"),
    [
        ((), {"SAGER_DATA_DIR": "/nowhere"}, "`sager up`, which writes one there"),
        (("--token-file", "/nowhere/token"), {}, "cannot read a token from /nowhere/token"),
        ((), {"SAGER_TOKEN": "secret of mine"}, "SAGER_TOKEN has no token"),
        (("--url", "ftp://x"), {"SAGER_TOKEN": TOKEN}, "must be the address of the HTTP API"),
        (("--url", "http://me:pass@x"), {"SAGER_TOKEN": TOKEN}, "must be the address of the HTTP API"),
    ],
)
def test_wrong_options_are_reported_without_secrets(
    started: list[tuple[Any, ...]], options: tuple[str, ...], env: dict[str, str], message: str
) -> None:
    result = run(*options, **env)

    assert result.exit_code == 1
    assert message in result.output
    assert not {"secret of mine", "pass@"} & set(result.output.split())
    assert started == []


def test_an_unencrypted_address_causes_a_warning(started: list[tuple[Any, ...]]) -> None:
    message = run("--url", "http://sager.example/", SAGER_TOKEN=TOKEN)

    assert "unencrypted" in message.stderr
    assert message.stdout == "", "it is the protocol's"
    assert started[0][0] == "http://sager.example"
