"""`sager mcp` in front of the real API, called with the SDK's own client."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from mcp import MCPError

from tests.unit.mcp.mcp_world import ORDER, SCOPES, World, a_world, command, over_stdio


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as served:
        yield served


def said(result) -> str:
    return "".join(each.text for each in result.content)


async def test_a_token_of_one_person_reads_their_skill_and_nobody_elses(world: World) -> None:
    films = {"domain": "films"}

    async with over_stdio(world.url, world.tokens.make(*SCOPES, user="ann")) as client:
        slim = await client.call_tool("get_slim_skill", films | {"request": "a quiet one"})
        lines = await client.call_tool("list_lines", films)
        of_bob = [await client.call_tool(tool, films | {"user": "bob"}) for tool in ("get_slim_skill", "list_lines")]

    assert slim.structured_content["text"] == "likes: film noir"
    assert [line["value"] for line in lines.structured_content["lines"]] == ["film noir"]
    assert lines.structured_content["held_back"] == 1
    assert "instruction" in said(lines), "that it is none"
    assert all(each.is_error and "lacks the scope" in said(each) for each in of_bob)
    assert ORDER.split()[0] not in said(slim) + said(lines)


async def test_every_tool_says_when_to_call_it_what_it_gives_and_what_it_changes(world: World) -> None:
    async with over_stdio(world.url, world.tokens.make(*SCOPES, user="ann")) as client:
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


async def test_a_server_that_is_told_its_user_and_domain_refuses_others_before_it_asks(world: World) -> None:
    everybody = world.tokens.make(*SCOPES, user="*")

    async with over_stdio(world.url, everybody, "--user", "ann", "--domain", "films") as client:
        known = await client.call_tool("get_slim_skill", {})
        of_bob = await client.call_tool("get_slim_skill", {"user": "bob"})
        of_books = await client.call_tool("get_slim_skill", {"domain": "books"})
    async with over_stdio(world.url, everybody) as client:
        unnamed = await client.call_tool("get_slim_skill", {"domain": "films"})
        named = await client.call_tool("get_slim_skill", {"domain": "films", "user": "bob"})
        nowhere = await client.call_tool("get_slim_skill", {"user": "bob"})

    assert known.structured_content["known"]
    assert "one user only" in said(of_bob)
    assert "the domain films only" in said(of_books)
    assert "name one in `user`" in said(unnamed)
    assert named.structured_content["text"] == "likes: film noir"
    assert "name the `domain`" in said(nowhere)


async def test_a_token_that_is_revoked_is_told_at_the_next_call(world: World) -> None:
    token = world.tokens.make(*SCOPES, user="ann")

    async with over_stdio(world.url, token, "--domain", "films") as client:
        before = await client.call_tool("get_slim_skill", {})
        world.tokens.revoke(token)
        after = await client.call_tool("get_slim_skill", {})

    assert not before.is_error
    assert "does not know this token" in said(after)


async def test_arguments_of_the_wrong_form_are_refused_and_nothing_crashes(world: World) -> None:
    async with over_stdio(world.url, world.tokens.make(*SCOPES, user="ann")) as client:
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


async def test_standard_output_carries_the_protocol_and_nothing_else(world: World) -> None:
    how = command(world.url, world.tokens.make(*SCOPES, user="ann"))
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "get_slim_skill", "arguments": {"domain": "films", "user": "bob"}},
        },
    ]
    process = await asyncio.create_subprocess_exec(
        how.command,
        *how.args,
        env=how.env,
        cwd=how.cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
    lines = [await process.stdout.readline(), await process.stdout.readline()]
    process.stdin.close()
    rest, told = await process.communicate()

    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    assert rest == b""
    assert process.returncode == 0, "its host ends it by closing its input"
    assert b"bob" not in told
