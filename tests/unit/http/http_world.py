"""A snapshot of two users, a file of tokens, and the API in front of both, served from a thread over real HTTP."""

import asyncio
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from operators.learning.commands import resolve_command
from operators.learning.fold import initial_skill, merge
from schemas import Action, Event, PolicySkill, SkillDiff, encode, topic_of
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import read
from streams.analytics.snapshot import copy_and_rename
from streams.analytics.store import DuckDBStore
from streams.http import tokens
from streams.http.api import Api
from streams.http.limits import Gate
from streams.http.server import Server, listen
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT as PRIVACY
from streams.serve import application, config_of
from streams.settings import Settings
from tests.builders import NOW, a_command
from tests.waiting import WAIT_SECONDS

USERS, DOMAINS, VERSIONS = ("ann", "bob"), ("books", "films"), 3
MS = int(NOW.timestamp() * 1000)


def history(user: str, domain: str, versions: int = VERSIONS) -> tuple[PolicySkill, list[SkillDiff]]:
    """A skill to which lines were added one by one, and its diffs."""
    commands = [
        a_command(Action.ADD, f"genre: number {n}", user_id=user, domain=domain, actor="advocate")
        for n in range(versions)
    ]
    skill, diffs = initial_skill(user, domain, (), commands[0]), []
    for command in commands:
        diffs.append(resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))
        skill = merge(skill, diffs[-1])
    return skill, diffs


def snapshot(file: Path, events: Iterable[Event], prefix: str = "sager.") -> Path:
    """A snapshot of these events, as the materializer publishes it."""
    batch = ChangeSet()
    for offset, event in enumerate(events):
        topic = topic_of(type(event))
        batch.add(read(KafkaRecord(topic, 0, offset, MS, topic.key_of(event), encode(event)), privacy=PRIVACY))
    with DuckDBStore(Path(mkdtemp(dir=file.parent)) / "live.duckdb", prefix) as store:
        store.write(batch, {})
        store.checkpoint(NOW.replace(tzinfo=None), None)
        copy_and_rename(store.path, file)
    return file


def publish(file: Path, prefix: str = "sager.", users: tuple[str, ...] = USERS) -> Path:
    """A snapshot with the skills of these users."""
    histories = [history(user, domain) for user in users for domain in DOMAINS]
    return snapshot(file, [event for skill, diffs in histories for event in (skill, *diffs)], prefix)


@cache
def published() -> Path:
    """The snapshot, the same at every call; two tests must not both replace it."""
    return publish(Path(mkdtemp(prefix="sager-http-")) / "sager.duckdb")


class Tokens:
    """A file of tokens, written anew at each change."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tokens.toml"
        self._lines: dict[str, str] = {}
        self.write()

    def make(
        self, *scopes: str, user: str | None = None, name: str = "console", expires: datetime | None = None
    ) -> str:
        secret, known = tokens.new_token(name, scopes, user, expires)
        self._lines[secret] = tokens.token_toml(known)
        self.write()
        return secret

    def revoke(self, secret: str) -> None:
        del self._lines[secret]
        self.write()

    def write(self, text: str | None = None, mode: int = 0o600) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text("\n".join(self._lines.values()) if text is None else text)
        fresh.chmod(mode)
        fresh.rename(self.path)


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    headers: dict[str, str]
    raw: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return self.raw.decode()

    @property
    def body(self) -> Any:
        return json.loads(self.text)


class Served:
    """The API on a port of its own, as a context manager; it follows topics only where there is a broker."""

    def __init__(self, settings: Settings, *, follows: bool = False, console: bool = False) -> None:
        self._follows, self._console = follows, console
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(WAIT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(WAIT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        gate = Gate(tokens.TokensFile(self._settings.http_tokens or Path()), self._settings)
        self.api = Api(self._settings, gate)
        app = application(self.api, console=self._console)
        self.console = getattr(app.state, "console", None)
        self.listening = listen("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        self._server = Server(config_of(app, self._settings))
        self._running = self.api.running(follows=self._follows)
        await self._running.__aenter__()
        self._serving = asyncio.create_task(self._server.serve([self.listening]))

    async def _end(self) -> None:
        self.api.cache.is_closing = True
        self._server.should_exit = True
        await self._serving
        await self._running.__aexit__(None, None, None)

    def request(
        self, path: str, token: str = "", method: str = "GET", body: bytes | None = None, **headers: str
    ) -> Reply:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()
