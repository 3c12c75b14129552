"""What requests cost, counted in calls and not in seconds: the quick way is quick, and says what the whole way says."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from schemas import SlimSkill, compound_key, encode
from streams.http.live import Held
from streams.settings import Settings
from tests.builders import NOW
from tests.unit.http.http_world import Tokens
from tests.unit.http.in_process import InProcess

PATH = "/v1/users/ann/domains/films/slim"
WHOLE = f"{PATH}?session_id=none"
"""The same, as FastAPI answers it."""


def slim(user: str, version: int = 1) -> SlimSkill:
    text = f"likes: sci-fi | style: version {version}"
    return SlimSkill(event_id="c", occurred_at=NOW, user_id=user, domain="films", skill_version=version, text=text,
                     likes=("sci-fi",), tokens=9)  # fmt: skip


class Nobody:
    """In place of the sender."""

    async def send(self, records: Any) -> None:
        """Nothing."""


def run(folder: Path, do: Callable[[InProcess, Callable[..., bytes]], Awaitable[None]], *scopes: str) -> None:
    tokens = Tokens(folder)
    secret = tokens.make(*(scopes or ("read-slim", "produce")), user="*")

    def request(path: str, body: Any = None, *headers: str) -> bytes:
        raw = b"" if body is None else json.dumps(body).encode()
        told = [f"Content-Length: {len(raw)}", "Content-Type: application/json"] if raw else []
        lines = [f"{'POST' if raw else 'GET'} {path} HTTP/1.1", "Host: a", f"Authorization: Bearer {secret}", *told]
        return "\r\n".join([*lines, *headers, "", ""]).encode() + raw

    async def main() -> None:
        server = InProcess(Settings(http_tokens=tokens.path, http_rate=10_000, http_burst=10_000))
        nobody: Any = Nobody()
        server.api.sender = nobody
        for number, user in enumerate(("ann", "a b", "grüße/%", "x" * 256)):
            key = compound_key(user, "films")
            server.api.live.take(SlimSkill.TOPIC, key, Held(encode(slim(user)), 0, number, 0))
        await do(server, request)

    asyncio.run(main())


@pytest.mark.parametrize("user", ["ann", "%61nn", "a%20b", "gr%C3%BC%C3%9Fe%2F%25", "x" * 256, "nobody", "x" * 257])
def test_the_quick_answer_is_the_whole_one(tmp_path: Path, user: str) -> None:
    path = PATH.replace("ann", user)

    async def compared(server: InProcess, request: Callable[..., bytes]) -> None:
        for headers in ([], ["If-None-Match: *"], ['If-None-Match: "a"']):
            quick = await server.ask(request(path, None, *headers))
            whole = await server.ask(request(f"{path}?session_id=none", None, *headers))
            assert sorted(quick.split(b"\r\n")) == sorted(whole.split(b"\r\n"))

    run(tmp_path, compared)


def test_the_quick_answer_is_for_those_who_may_read(tmp_path: Path) -> None:
    async def asked(server: InProcess, request: Callable[..., bytes]) -> None:
        assert (await server.ask(request(PATH))).startswith(b"HTTP/1.1 403")

    run(tmp_path, asked, "produce")


def test_the_quick_answer_is_the_newest_and_nothing_of_whom_is_forgotten_is_kept(tmp_path: Path) -> None:
    key = compound_key("ann", "films")

    async def asked(server: InProcess, request: Callable[..., bytes]) -> None:
        assert b"version 1" in await server.ask(request(PATH))
        server.api.live.take(SlimSkill.TOPIC, key, Held(encode(slim("ann", 2)), 0, 9, 0))
        assert b"version 2" in await server.ask(request(PATH))
        server.api.live.take(SlimSkill.TOPIC, key, Held(None, 0, 10, 0))
        assert len(server.api.slims._answers) == 0
        assert (await server.ask(request(PATH))).startswith(b"HTTP/1.1 404")
        server.api.live._ready.clear()
        assert (await server.ask(request(PATH.replace("ann", "a%20b")))).startswith(b"HTTP/1.1 503")

    run(tmp_path, asked)


def test_a_slim_skill_costs_less_than_half_of_what_fastapi_takes_to_read_its_parameters(tmp_path: Path) -> None:
    async def counted(server: InProcess, request: Callable[..., bytes]) -> None:
        quick, whole = await server.calls(request(PATH)), await server.calls(request(WHOLE))
        assert 2 * quick < whole, f"{quick} calls against {whole}"
        unchanged = await server.calls(request(PATH, None, "If-None-Match: *"))
        assert unchanged < 1.1 * quick

    run(tmp_path, counted)


def test_a_request_of_many_events_costs_no_more_than_its_events(tmp_path: Path) -> None:
    def batch(count: int) -> dict[str, Any]:
        common = {"occurred_at": NOW.isoformat(), "user_id": "ann", "item_id": "a"}
        events = [{**common, "event_id": f"e{n}", "ranking_id": f"r{n}"} for n in range(count)]
        return {"events": [{"topic": "selections", "event": event} for event in events]}

    async def counted(server: InProcess, request: Callable[..., bytes]) -> None:
        one, ten, many = [await server.calls(request("/v1/events", batch(count))) for count in (1, 11, 101)]
        each = (many - ten) / 90
        assert each < one / 10, f"{each:.0f} calls an event beside {one} of a request"
        assert ten - one == pytest.approx(10 * each, rel=0.2), "an event costs the same in every batch"

    run(tmp_path, counted)
