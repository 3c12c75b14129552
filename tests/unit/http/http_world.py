"""A snapshot of two users, a file of tokens, and the API in front of both, served from a thread over real HTTP."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from operators.cards.fold import apply_diff
from operators.cards.merge import apply_command, merge_extraction
from operators.language.ports import Effect, Extraction, PreferenceFinding
from operators.learning.commands import resolve_command
from operators.learning.fold import initial_skill, merge
from schemas import Action, Card, CardCommand, CardDiff, Event, PolicySkill, SkillDiff, Stance, encode, topic_of
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import read
from streams.analytics.snapshot import copy_and_rename
from streams.http import tokens
from streams.http.api import Api
from streams.http.limits import Gate
from streams.http.replies import EventSender
from streams.http.server import Server, listen
from streams.http.topic_cache import TopicCache
from streams.kafka.clients import partition_of
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.serve import application, config_of
from streams.settings import Settings
from tests.builders import NOW, a_command
from tests.shared_files import empty_store
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
    batch = ChangeSet()
    for offset, event in enumerate(events):
        topic = topic_of(type(event))
        batch.add(read(KafkaRecord(topic, 0, offset, MS, topic.key_of(event), encode(event)), privacy=PRIVACY))
    with empty_store(Path(mkdtemp(dir=file.parent)) / "live.duckdb", prefix) as store:
        store.write(batch, {})
        store.checkpoint(NOW.replace(tzinfo=None), None)
        copy_and_rename(store.path, file)
    return file


def publish(file: Path, prefix: str = "sager.", users: tuple[str, ...] = USERS) -> Path:
    histories = [history(user, domain) for user in users for domain in DOMAINS]
    return snapshot(file, [event for skill, diffs in histories for event in (skill, *diffs)], prefix)


@cache
def published() -> Path:
    """The snapshot, the same at every call; two tests must not both replace it."""
    return publish(Path(mkdtemp(prefix="sager-http-")) / "sager.duckdb")


class Tokens:
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


def settings_of(file: Tokens, **more: Any) -> Settings:
    known = {"duckdb": published(), "http_tokens": file.path, "data_dir": file.path.parent}
    return Settings(**{**known, "http_rate": 10_000, "http_burst": 10_000, "http_failures": 1e6, **more})


@dataclass(frozen=True)
class Reply:
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
    def __init__(self, settings: Settings, *, console: bool = False) -> None:
        self._settings, self._console = settings, console
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
        self.api.cache.start = lambda: None  # type: ignore[method-assign]
        self._running = self.api.running()
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


@dataclass
class Raw:
    port: int
    _held: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def reply(self) -> Reply | None:
        """Return the next answer; None where the server closed the connection instead."""
        while b"\r\n\r\n" not in self._held:
            if not self._more():
                return None
        head, _, rest = self._held.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", "0"))
        while len(rest) < size:
            assert self._more(), "the answer ends before its end"
            rest = self._held.partition(b"\r\n\r\n")[2]
        self._held = rest[size:]
        return Reply(int(first.split()[1]), headers, rest[:size])

    def is_closed(self) -> bool:
        """Wait until the server closes the connection; return False if it sends something instead."""
        return not self._held and not self._more()

    def _more(self) -> bool:
        try:
            found = self.socket.recv(65_536)
        except ConnectionError:
            return False
        self._held += found
        return bool(found)


def ask(port: int, data: bytes) -> Reply | None:
    with Raw(port) as raw:
        raw.send(data)
        return raw.reply()


LATE_RUNS, CORIANDER = "prefers:stated:evening-runs", "avoids:stated:coriander"
FIRST, SECOND = NOW - timedelta(days=40), NOW - timedelta(days=2)


def finding(
    value: str, words: str, at: datetime, stance: Stance = Stance.PREFERS, replaces: str = ""
) -> PreferenceFinding:
    effect = Effect.UPDATES if replaces else Effect.STATES
    return PreferenceFinding(stance, value, words, f"said-{value[:9]}", at, effect=effect, replaces=replaces or None)


def talks(user: str = "ann") -> list[CardDiff]:
    """The log of a card: two conversations, the second of which overtakes a line of the first."""
    first = (
        finding("morning runs", "I love morning runs", FIRST),
        finding("coriander", "I can't stand coriander", FIRST, Stance.AVOIDS),
        finding("vegetarian food", "vegetarian food is what I like", FIRST),
    )
    second = (finding("evening runs", "I prefer evening runs now", SECOND, replaces="morning runs"),)
    card, diffs = None, list[CardDiff]()
    for name, at, heard in (("c1", FIRST, first), ("c2", SECOND, second)):
        diff = merge_extraction(card, user, Extraction(heard, of_others=1), f"chunk-{name}", at, name, None, PRIVACY)
        assert diff is not None
        card = apply_diff(card, diff)
        diffs.append(diff)
    return diffs


def card_of(diffs: list[CardDiff]) -> Card:
    card = None
    for diff in diffs:
        card = apply_diff(card, diff)
    assert card is not None
    return card


@cache
def published_cards() -> Path:
    skill, versions = history("ann", DOMAINS[1])
    events: list[Event] = [skill, *versions]
    for user in ("ann", "zoe"):
        diffs = talks(user)
        events += [*diffs, card_of(diffs)]
    return snapshot(Path(mkdtemp(prefix="sager-cards-")) / "sager.duckdb", events)


def follow(live: TopicCache, card: Card) -> None:
    """As if the topic had the card."""
    live.apply(Card.TOPIC, card.user_id.encode(), encode(card), 0)


class CardWorker(EventSender):
    """In place of the sender: a worker that carries out commands on cards at once."""

    def __init__(self, served: Served) -> None:
        super().__init__(Settings())
        self._api = served.api
        self.sent: list[CardCommand] = []

    async def send(self, events: Any) -> None:
        for event in events:
            await asyncio.to_thread(self._take, event)

    def _take(self, command: CardCommand) -> None:
        self.sent.append(command)
        card = self._api.cache.card(command.user_id)
        diff = apply_command(card, command, None, PRIVACY)
        assert diff is not None
        follow(self._api.cache, apply_diff(card, diff))
        partition = partition_of(command.user_id, self._api.settings.partitions)
        self._api.replies.offer(CardDiff.TOPIC, partition, encode(diff))
