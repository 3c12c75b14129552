"""Delivery to a real receiver: the order of messages, and endpoints that fail."""

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from streams.webhooks import delivery as delivering
from streams.webhooks.delivery import MAX_AWAY_MS, Delivery, now_ms
from streams.webhooks.messages import CHANGED, FORGOTTEN, RESET, Endpoint, Notification, new_session
from tests.unit.webhooks.test_webhooks_parts import note
from tests.waiting import WAIT_SECONDS
from tests.webhook_receiver import SECRET, Receiver

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"


class Topic:
    """A topic of one partition and its reader; a record's offset is its place."""

    def __init__(self, *records: Notification, batch: int = 500) -> None:
        self.records, self.batch, self.at = list(records), batch, 0
        self.committed: tuple[dict[int, int], int] | None = None

    def add(self, user: str, *, gone: bool = False) -> None:
        self.records.append(note(user, len(self.records), gone=gone))

    @property
    def read_until_ms(self) -> int:
        return now_ms() if self.at == len(self.records) else 0

    def seek(self, offsets: dict[int, int]) -> None:
        self.at = offsets[0]

    def read(self) -> list[Notification]:
        found = self.records[self.at : self.at + self.batch]
        self.at += len(found)
        return found

    def commit(self, offsets: dict[int, int], at_ms: int) -> None:
        self.committed = offsets, at_ms


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "_backoff", lambda times: 0.01 * times)
    monkeypatch.setattr(delivering, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(delivering, "COMMIT_SECONDS", 0.0)


@asynccontextmanager
async def delivery(
    url: str, topic: Topic, offset: int | None = 0, at_ms: int | None = None, **more: Any
) -> AsyncIterator[Delivery]:
    endpoint = Endpoint(name="shop", url=url, secret=SecretStr(SECRET), **more)
    async with new_session() as session:
        made = Delivery(endpoint, session, topic)  # type: ignore[arg-type]
        made.start({0: len(topic.records)}, {} if offset is None else {0: offset}, at_ms or now_ms())
        task = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_SECONDS
    while not done():
        assert time.monotonic() < give_up, "it takes too long"
        await asyncio.sleep(0.01)


def is_done(shop: Delivery, topic: Topic) -> bool:
    return topic.committed is not None and topic.committed[0] == shop.offsets == {0: len(topic.records)}


def run(test: Callable[[Receiver], Awaitable[None]], **receives: float) -> Receiver:
    with Receiver(**receives) as receiver:
        asyncio.run(test(receiver))
        return receiver


def test_signed_messages_arrive_in_order_per_user() -> None:
    topic = Topic()

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver.url, topic) as shop:
            for number in range(40):
                topic.add(f"u{number % 8}")
                await asyncio.sleep(0.002)
            topic.add("u1", gone=True)
            await until(lambda: is_done(shop, topic))

    receiver = run(deliver, delay=0.02)

    for user in {each["user_id"] for each in receiver.of(CHANGED)}:
        versions = [each["skill_version"] for each in receiver.of(CHANGED) if each["user_id"] == user]
        assert versions == sorted(versions)
    assert {each["skill_version"] for each in receiver.of(CHANGED)} >= {32, 34, 35, 36, 37, 38, 39}
    assert receiver.of(FORGOTTEN) == [{"user_id": "u1", "domain": "films"}]


def test_a_recovered_endpoint_gets_only_the_newest_versions_once() -> None:
    topic = Topic(note("bob", 0), note("ann", 1))

    async def deliver(receiver: Receiver) -> None:
        receiver.answers.extend([204, 503, 503, 503])
        async with delivery(receiver.url, topic) as shop:
            await until(lambda: len(receiver.attempts) >= 3)
            assert shop.is_down
            assert shop.offsets == {0: 1}
            for _ in range(49):
                topic.add("ann")
            receiver.always = 204
            await until(lambda: is_done(shop, topic))
            assert not shop.is_down

    receiver = run(deliver, always=503)

    assert [(each["user_id"], each["skill_version"]) for each in receiver.of(CHANGED)] == [("bob", 0), ("ann", 50)]


def test_a_smaller_batch_after_a_failure_sends_no_older_version_and_no_other_users() -> None:
    topic = Topic(note("ann", 0), note("ann", 1), note("bob", 2), note("cleo", 3))

    async def deliver(receiver: Receiver) -> None:
        receiver.answers.extend([204, 503])
        async with delivery(receiver.url, topic, users=frozenset({"ann", "bob"})) as shop:
            await until(lambda: len(receiver.attempts) >= 2)
            topic.batch = 1
            await until(lambda: is_done(shop, topic))

    versions = [(each["user_id"], each["skill_version"]) for each in run(deliver).of(CHANGED)]
    assert versions == [("ann", 1), ("bob", 2)]


def test_a_refused_message_is_dropped_and_others_are_delivered() -> None:
    topic = Topic(note("ann", 0))

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver.url, topic) as shop:
            await until(lambda: is_done(shop, topic))
            receiver.always = 204
            topic.add("bob")
            await until(lambda: is_done(shop, topic))

    receiver = run(deliver, always=422)

    assert [each["user_id"] for each in receiver.of(CHANGED)] == ["bob"]
    assert sum(status == 422 for _, status in receiver.attempts) == 1


def test_a_refused_erasure_is_sent_again_with_the_same_id() -> None:
    topic = Topic(note("ann", 0, gone=True))

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver.url, topic) as shop:
            await until(lambda: shop._failures > 1)
            receiver.always = 204
            await until(lambda: is_done(shop, topic))

    receiver = run(deliver, always=400)

    assert receiver.of(FORGOTTEN) == [{"user_id": "ann", "domain": "films"}]
    assert len({ident for ident, _ in receiver.attempts}) == 1


def test_redirects_are_not_followed() -> None:
    async def deliver(receiver: Receiver) -> None:
        receiver.headers = {"Location": receiver.url}
        async with delivery(receiver.url, Topic(note("ann", 0))) as shop:
            await until(lambda: len(receiver.attempts) >= 2)
            assert shop.offsets == {0: 0}

    assert run(deliver, always=307).messages == []


@pytest.mark.parametrize(
    ("offset", "at_ms"),
    [(None, None), (99, None), (2, now_ms() - MAX_AWAY_MS - 1)],
    ids=["new", "of an earlier topic", "away for too long"],
)
def test_an_endpoint_that_may_have_missed_messages_starts_over(offset: int | None, at_ms: int | None) -> None:
    topic = Topic(note("ann", 0), note("bob", 1), note("ann", 2), note("bob", 3, gone=True), batch=2)

    async def deliver(receiver: Receiver) -> None:
        receiver.answers.extend([500, 400])
        async with delivery(receiver.url, topic, offset, at_ms) as shop:
            await until(lambda: is_done(shop, topic))

    receiver = run(deliver)

    assert [each["type"] for each in receiver.messages].count(RESET) == 1
    assert receiver.messages[0]["type"] == RESET
    held = {each["data"]["user_id"]: each["data"].get("skill_version") for each in receiver.messages[1:]}
    assert held == {"ann": 2, "bob": None}


def test_an_endpoint_resumes_at_its_offset_and_commits_its_delay() -> None:
    topic = Topic(note("ann", 0), note("bob", 1))
    before = now_ms() - 5_000

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver.url, topic, 1, before) as shop:
            await until(lambda: len(receiver.attempts) >= 2)
            await shop.commit()
            assert topic.committed == ({0: 1}, before)
            receiver.always = 204
            await until(lambda: is_done(shop, topic))
            assert topic.committed[1] > before

    assert [each["user_id"] for each in run(deliver, always=503).of(CHANGED)] == ["bob"]


def test_the_receiver_of_the_docs_works() -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    source, _, _ = code[1].partition("HTTPServer((")
    names: dict[str, Any] = {}
    exec(compile(source.replace("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", SECRET), "receiver", "exec"), names)
    kind: type[BaseHTTPRequestHandler] = names["Receiver"]
    kind.log_message = lambda *_: None  # type: ignore[method-assign]
    server = HTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    topic = Topic(note("ann", 0), note("bob", 1), note("bob", 2, gone=True), batch=2)

    async def deliver() -> None:
        async with delivery(f"http://127.0.0.1:{server.server_port}/", topic, None) as shop:
            await until(lambda: is_done(shop, topic))

    names["held"]["old", "films"] = "from before"
    asyncio.run(deliver())
    server.shutdown()
    assert names["held"] == {("ann", "films"): "likes: noir"}, "no id of an erased person is left"
