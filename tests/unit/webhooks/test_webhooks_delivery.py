"""Delivery to a real receiver: what arrives, in which order, and what becomes of an endpoint that fails."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from streams.webhooks import delivery as delivering
from streams.webhooks.delivery import AWAY_HOURS, MS_PER_HOUR, REFUSALS, Delivery
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.messages import CHANGED, FORGOTTEN, RESET, News
from streams.webhooks.posting import new_session
from tests.patience import PATIENCE_SECONDS
from tests.unit.webhooks.test_webhooks_parts import MS, news
from tests.webhook_receiver import SECRET, Receiver


@dataclass
class Topic:
    """What is on the topic, for those who begin anew; and what was given up."""

    batches: list[Sequence[News]] = field(default_factory=list)
    given_up: list[News] = field(default_factory=list)

    async def everything(self) -> AsyncIterator[Sequence[News]]:
        for batch in self.batches:
            yield batch

    async def give_up(self, each: News, *_: object) -> None:
        self.given_up.append(each)


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    """Waits are as many, and short."""
    monkeypatch.setattr(delivering, "_wait", lambda times: 0.01 * times)


@asynccontextmanager
async def delivery(receiver: Receiver, topic: Topic | None = None, most: int = 1_000) -> AsyncIterator[Delivery]:
    endpoint = Endpoint(name="shop", url=receiver.url, secret=SecretStr(SECRET), domains=frozenset({"films"}))
    topic = topic or Topic()
    async with new_session() as session:
        made = Delivery(endpoint, session, topic.everything, topic.give_up, most)
        task = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < give_up, "it takes too long"
        await asyncio.sleep(0.01)


def run(test: Callable[[Receiver], Awaitable[None]], **receives: float) -> Receiver:
    with Receiver(**receives) as receiver:
        asyncio.run(test(receiver))
        return receiver


def test_messages_arrive_signed_each_persons_in_order_and_several_at_once():
    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver) as shop:
            for offset in range(40):
                shop.take(news(f"u{offset % 8}", offset))
                await asyncio.sleep(0.002)
            shop.take(news("u1", 41, gone=True))
            await until(lambda: len(shop.queue) == 0)

    receiver = run(deliver, delay=0.02)

    for user in {each["user_id"] for each in receiver.of(CHANGED)}:
        versions = [each["skill_version"] for each in receiver.of(CHANGED) if each["user_id"] == user]
        assert versions == sorted(versions)
    assert {each["skill_version"] for each in receiver.of(CHANGED)} >= {32, 34, 35, 36, 37, 38, 39}
    assert receiver.of(FORGOTTEN) == [{"user_id": "u1", "domain": "films"}]
    assert 1 < receiver.most_at_once <= delivering.LANES


def test_an_endpoint_that_was_down_gets_the_newest_only_and_nothing_twice():
    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver) as shop:
            shop.take(news("ann", 0))
            await until(lambda: len(receiver.attempts) >= 3)
            for offset in range(1, 50):
                shop.take(news("ann", offset))
            assert shop.is_down
            assert shop.place({0: 50}, MS) is not None
            receiver.always = 204
            await until(lambda: len(shop.queue) == 0)
            assert not shop.is_down

    receiver = run(deliver, always=503)

    assert [each["skill_version"] for each in receiver.of(CHANGED)] == [49]


def test_what_is_refused_is_given_up_and_holds_up_nobody():
    topic = Topic()

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver, topic) as shop:
            shop.take(news("ann", 0))
            await until(lambda: len(topic.given_up) == 1)
            receiver.always = 204
            shop.take(news("bob", 1))
            await until(lambda: len(shop.queue) == 0)
            place = shop.place({0: 2}, MS)
            assert place is not None
            assert place[0].offset == 2

    receiver = run(deliver, always=422)

    assert [each.about for each in topic.given_up] == [("ann", "films")]
    assert len({ident for ident, status in receiver.attempts if status == 422}) == 1, "one id for all attempts"
    assert sum(status == 422 for _, status in receiver.attempts) == REFUSALS


def test_who_was_forgotten_is_told_however_often_it_is_refused():
    topic = Topic()

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver, topic) as shop:
            shop.take(news("ann", 0, gone=True))
            await until(lambda: len(receiver.attempts) > REFUSALS + 1)
            receiver.always = 204
            await until(lambda: len(shop.queue) == 0)

    assert run(deliver, always=400).of(FORGOTTEN) == [{"user_id": "ann", "domain": "films"}]
    assert topic.given_up == []


def test_an_endpoint_that_is_gone_is_asked_no_more_and_begins_anew_at_the_next_start():
    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver) as shop:
            shop.take(news("ann", 0))
            await until(lambda: shop.is_gone)
            shop.take(news("bob", 1))
            await asyncio.sleep(0.05)
            assert shop.place({0: 2}, MS) is None
            assert shop.is_down

    assert len(run(deliver, always=410).attempts) == 1


def test_redirects_are_not_followed():
    async def deliver(receiver: Receiver) -> None:
        receiver.headers = {"Location": receiver.url}
        async with delivery(receiver) as shop:
            shop.take(news("ann", 0))
            await until(lambda: len(receiver.attempts) >= 2)
            assert shop.queue.oldest_ms() == MS

    assert run(deliver, always=307).messages == []


def test_retry_after_is_heeded():
    async def deliver(receiver: Receiver) -> None:
        receiver.headers = {"Retry-After": "3600"}
        async with delivery(receiver) as shop:
            shop.take(news("ann", 0))
            await until(lambda: bool(receiver.attempts))
            await asyncio.sleep(0.2)

    assert len(run(deliver, always=429).attempts) == 1


def test_who_begins_anew_is_told_to_forget_first_and_then_hears_everything():
    topic = Topic([[news(f"u{n}", n) for n in range(10)], [news("u3", 20), news("u4", 21, gone=True)]])

    async def deliver(receiver: Receiver) -> None:
        receiver.answers.extend([500, 400])
        async with delivery(receiver, topic, most=8) as shop:
            shop.begin_anew()
            assert shop.place({0: 22}, MS) is None
            await until(lambda: shop.place({0: 22}, MS) is not None and len(shop.queue) == 0)

    receiver = run(deliver)

    assert receiver.messages[0]["type"] == RESET
    assert [each["type"] for each in receiver.messages].count(RESET) == 1
    held = {}
    for each in receiver.messages[1:]:
        held[each["data"]["user_id"]] = each["data"].get("skill_version")
    assert held == {f"u{n}": n for n in range(10)} | {"u3": 20, "u4": None}


def test_who_is_forgotten_while_everything_is_told_is_not_told_again_as_before():
    came = asyncio.Event()

    class Slow(Topic):
        async def everything(self) -> AsyncIterator[Sequence[News]]:
            await came.wait()
            yield [news("ann", 3), news("bob", 4)]

    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver, Slow()) as shop:
            shop.begin_anew()
            await until(lambda: len(receiver.attempts) == 1)
            shop.take(news("ann", 9, gone=True))
            await until(lambda: len(receiver.attempts) == 2)
            came.set()
            await until(lambda: shop.place({0: 10}, MS) is not None and len(shop.queue) == 0)
            assert not shop._heard

    receiver = run(deliver)

    assert receiver.of(FORGOTTEN) == [{"user_id": "ann", "domain": "films"}]
    assert [each["user_id"] for each in receiver.of(CHANGED)] == ["bob"]


def test_an_endpoint_that_asks_to_be_tried_at_once_is_given_a_moment():
    async def deliver(receiver: Receiver) -> None:
        receiver.headers = {"Retry-After": "0"}
        async with delivery(receiver) as shop:
            shop.take(news("ann", 0))
            await until(lambda: len(receiver.attempts) >= 3)

    began = time.monotonic()
    run(deliver, always=503)

    # Twice the least wait lies between three attempts; a busy machine only takes longer.
    assert time.monotonic() - began >= 2 * delivering.LEAST_WAIT_SECONDS


@pytest.mark.parametrize("how", ["too much waits", "too long away"])
def test_who_cannot_have_heard_all_begins_anew(how):
    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver, Topic([[news("ann", 99)]]), most=2) as shop:
            shop.take(news("u0", 0))
            if how == "too much waits":
                for offset in range(1, 6):
                    shop.take(news(f"u{offset}", offset))
            else:
                assert shop.place({0: 1}, MS + AWAY_HOURS * MS_PER_HOUR + 1) is None
            receiver.always = 204
            await until(lambda: shop.place({0: 100}, MS) is not None and len(shop.queue) == 0)

    receiver = run(deliver, always=503)

    kinds = [each["type"] for each in receiver.messages]
    assert RESET in kinds
    assert receiver.messages[-1]["data"]["skill_version"] == 99


@pytest.mark.parametrize("ticks", range(4))
def test_it_ends_when_it_is_told_to_also_as_news_wakes_it(ticks):
    async def deliver(receiver: Receiver) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), delivery(receiver) as shop:
            await asyncio.sleep(0.01)  # it waits for news
            shop.take(news("ann", 0))
            for _ in range(ticks):
                await asyncio.sleep(0)

    run(deliver)


def test_another_domain_is_none_of_its_business():
    async def deliver(receiver: Receiver) -> None:
        async with delivery(receiver) as shop:
            shop.take(News(b'["ann","books"]', None, 0, 0, MS))
            assert len(shop.queue) == 0

    run(deliver)
