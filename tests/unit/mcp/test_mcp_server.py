"""What an agent is given over MCP, asked with the SDK's own client of the real API: over HTTP, and by `sager mcp`."""

import asyncio
import json
import logging
from collections.abc import Iterator

import pytest
from mcp import MCPError

from tests.unit.mcp.mcp_world import ORDER, SCOPES, World, a_world, command, over_stdio, skill_of

TRANSPORTS = ("http", "http of before", "stdio")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as served:
        yield served


def client_of(world: World, transport: str, token: str):
    if transport == "stdio":
        return over_stdio(world.url, token)
    return world.over_http(token, "auto" if transport == "http" else "legacy")


def said(result) -> str:
    return "".join(each.text for each in result.content)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_token_of_one_person_reads_their_skill_and_nobody_elses(world: World, transport: str) -> None:
    ann = world.tokens.make(*SCOPES, user="ann")
    films = {"domain": "films"}

    async with client_of(world, transport, ann) as client:
        slim = await client.call_tool("get_slim_skill", films | {"request": "a quiet one"})
        lines = await client.call_tool("list_lines", films)
        document = (await client.read_resource("sager://users/ann/domains/films/skill")).contents[0].text
        of_bob = [await client.call_tool(tool, films | {"user": "bob"}) for tool in ("get_slim_skill", "list_lines")]
        of_bob.append(
            await client.call_tool("correct_line", films | {"user": "bob", "line_id": "x:y:z", "edit": "pin"})
        )
        with pytest.raises(MCPError, match="lacks the scope"):
            await client.read_resource("sager://users/bob/domains/films/skill")

    assert slim.structured_content["text"] == "likes: film noir"
    assert [line["value"] for line in lines.structured_content["lines"]] == ["film noir"]
    assert lines.structured_content["held_back"] == 1
    assert "**film noir**" in document
    assert all("instruction" in each for each in (said(lines), document)), "that it is none"
    assert [each.is_error for each in of_bob] == [True] * 3
    assert all("lacks the scope" in said(each) for each in of_bob)
    assert ORDER.split()[0] not in "".join([said(slim), said(lines), document])


async def test_every_tool_says_when_to_call_it_what_it_gives_and_what_it_changes(world: World) -> None:
    async with world.over_http(world.tokens.make(*SCOPES, user="ann")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]

    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reading == {"get_slim_skill", "list_lines", "explain_line", "read_card"}
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {"correct_line"}
    assert len(tools) == 9
    for tool in tools.values():
        assert "Call it" in (tool.description or "")
        assert tool.output_schema["properties"]
        assert not {"user", "domain"} & set(tool.input_schema.get("required", ())), "a scoped server needs neither"
        for parameter in tool.input_schema["properties"].values():
            assert parameter["description"]
    assert templates == ["sager://users/{user}/domains/{domain}/skill"]


async def test_a_server_that_is_told_its_user_and_domain_refuses_others_before_it_asks(world: World) -> None:
    everybody = world.tokens.make(*SCOPES, user="*")

    async with over_stdio(world.url, everybody, "--user", "ann", "--domain", "films") as client:
        known = await client.call_tool("get_slim_skill", {})
        of_bob = await client.call_tool("get_slim_skill", {"user": "bob"})
        of_books = await client.call_tool("get_slim_skill", {"domain": "books"})
        with pytest.raises(MCPError, match="one user only"):
            await client.read_resource("sager://users/bob/domains/films/skill")
    async with world.over_http(everybody) as client:
        unnamed = await client.call_tool("get_slim_skill", {"domain": "films"})
        named = await client.call_tool("get_slim_skill", {"domain": "films", "user": "bob"})
        nowhere = await client.call_tool("get_slim_skill", {"user": "bob"})

    assert known.structured_content["known"]
    assert "one user only" in said(of_bob)
    assert "the domain films only" in said(of_books)
    assert "name one in `user`" in said(unnamed)
    assert named.structured_content["text"] == "likes: film noir"
    assert "name the `domain`" in said(nowhere)


async def test_a_skill_that_changes_is_read_as_it_is(world: World) -> None:
    async with world.over_http(world.tokens.make(*SCOPES, user="cleo")) as client:
        world.learn(skill_of("cleo"))
        before = await client.call_tool("list_lines", {"domain": "films"})
        world.learn(skill_of("cleo", "genre: western"))
        after = await client.call_tool("list_lines", {"domain": "films"})

    assert [len(each.structured_content["lines"]) for each in (before, after)] == [1, 2]


async def test_a_token_that_is_revoked_is_told_at_the_next_call(world: World) -> None:
    token = world.tokens.make(*SCOPES, user="ann")

    async with over_stdio(world.url, token, "--domain", "films") as client:
        before = await client.call_tool("get_slim_skill", {})
        world.tokens.revoke(token)
        after = await client.call_tool("get_slim_skill", {})

    assert not before.is_error
    assert "does not know this token" in said(after)


async def test_arguments_of_the_wrong_form_are_refused_and_nothing_crashes(world: World) -> None:
    async with world.over_http(world.tokens.make(*SCOPES, user="ann")) as client:
        for tool, arguments in (
            ("get_slim_skill", {"domain": "../../token"}),
            ("get_slim_skill", {"domain": "films", "user": "a" * 300}),
            ("rank_candidates", {"domain": "films", "candidates": []}),
            ("rank_candidates", {"domain": "films", "candidates": [{"title": "no id"}]}),
            ("record_shown_and_taken", {"domain": "films"}),
            ("record_correction", {"domain": "films", "text": "  "}),
            ("correct_line", {"domain": "films", "line_id": "x:y:z", "edit": "reword"}),
            ("correct_line", {"domain": "films", "line_id": "x:y:z", "edit": "forget"}),
            ("no_such_tool", {}),
        ):
            try:
                assert (await client.call_tool(tool, arguments)).is_error, tool
            except MCPError as error:
                assert tool == "no_such_tool" or "nternal" not in str(error)  # noqa: PT017


# --- over HTTP


def posted(world: World, token: str, body: bytes = b"{}", **headers: str):
    return world.served.ask("/mcp", token, "POST", body, Accept="application/json, text/event-stream", **headers)


def test_mcp_asks_for_a_token_like_everything_else(world: World) -> None:
    assert posted(world, "").status == 401
    assert world.served.ask("/mcp", "").status == 401


def test_only_post_is_answered_so_that_no_stream_stays_open(world: World) -> None:
    token = world.tokens.make(*SCOPES, user="ann")

    assert [world.served.ask("/mcp", token, method).status for method in ("GET", "DELETE")] == [405, 405]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
    ],
)
def test_other_hosts_and_origins_are_refused(world: World, headers: dict[str, str], status: int) -> None:
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    token = world.tokens.make(*SCOPES, user="ann")

    assert posted(world, token, asked).status == 200
    assert posted(world, token, asked, **headers).status == status


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff", b"[" * 50_000, b'"' * 99])
def test_bodies_that_are_no_message_are_refused(world: World, body: bytes) -> None:
    assert 400 <= posted(world, world.tokens.make(*SCOPES, user="ann"), body).status < 500


def test_a_message_that_is_too_large_is_refused(world: World) -> None:
    token = world.tokens.make(*SCOPES, user="ann")

    assert posted(world, token, b"", **{"Content-Length": str(1024 * 1024 + 1)}).status == 413


async def test_logs_name_nobody(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with world.over_http(world.tokens.make(*SCOPES, user="ann")) as client:
            await client.call_tool("get_slim_skill", {"domain": "films", "user": "bob"})
            await client.call_tool("get_slim_skill", {"domain": "films", "request": "something for annoyed people"})
            with pytest.raises(MCPError):
                await client.read_resource("sager://users/bob/domains/films/skill")

    theirs = ("sager", "mcp.server", "httpx2", "httpcore2", "uvicorn", "sse_starlette")
    lines = [each.getMessage() for each in caplog.records if each.name.startswith(theirs)]
    assert not [line for line in lines if "bob" in line or "ann" in line]


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
