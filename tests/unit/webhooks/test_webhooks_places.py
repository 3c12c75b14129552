"""Where endpoints go on after a restart, with a consumer that says what was committed; and the receiver of the docs."""

import asyncio
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, TopicPartition
from pydantic import SecretStr

from streams.settings import Settings
from streams.webhooks import run as running
from streams.webhooks.delivery import AWAY_HOURS, MS_PER_HOUR, Delivery
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.health import STUCK_SECONDS, WebhooksHealth
from streams.webhooks.messages import News
from streams.webhooks.places import Place, note, noted
from streams.webhooks.posting import new_session
from tests.patience import PATIENCE_SECONDS
from tests.unit.webhooks.test_webhooks_parts import news
from tests.webhook_receiver import SECRET

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"


class Committed:
    """A consumer of two partitions."""

    def __init__(self, places: list[tuple[int, str | None]]) -> None:
        self._places = places
        self.assigned: dict[int, int] = {}

    def committed(self, asked: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition, offset, **({} if told is None else {"metadata": told}))
                for each, (offset, told) in zip(asked, self._places, strict=True)]  # fmt: skip

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        return 0, 100

    def assign(self, where: list[TopicPartition]) -> None:
        self.assigned = {each.partition: each.offset for each in where}


def started(monkeypatch: pytest.MonkeyPatch, places: list[tuple[int, str | None]], *names: str) -> Any:
    """The process after its start, and whether each endpoint begins anew."""
    monkeypatch.setattr(running, "partitions_of", lambda *_: [0, 1])
    made = running._Webhooks(Settings(), WebhooksHealth())
    made._consumer = Committed(places)  # type: ignore[assignment]
    for name in names:
        endpoint = Endpoint(name=name, url="https://a", secret=SecretStr(SECRET))
        made._deliveries.append(Delivery(endpoint, None, None, None))  # type: ignore[arg-type]
    made._assign()
    return made, [each._anew for each in made._deliveries]


def test_each_endpoint_goes_on_where_it_was_and_a_new_one_begins_anew(monkeypatch):
    now = int(time.time() * 1000)
    told = [
        (4, note({"shop": Place(7, now), "crm": Place(4, now)})),
        (9, note({"shop": Place(9, now), "crm": Place(9, now)})),
    ]

    made, anew = started(monkeypatch, told, "shop", "crm", "fresh")

    assert anew == [False, False, True]
    assert made._consumer.assigned == {0: 4, 1: 9}
    for offset in (4, 7):
        for delivery in made._deliveries:
            each = news("ann", offset, at_ms=now)
            if each.offset >= made._from.get(delivery.endpoint.name, {}).get(0, 0):
                delivery.take(each)
    assert [len(each.queue) for each in made._deliveries] == [1, 1, 0]
    [first, second] = made._places()
    assert (first.offset, second.offset) == (4, 9)
    assert noted(first.metadata).keys() == {"shop", "crm"}


@pytest.mark.parametrize(
    "told",
    [
        [(OFFSET_INVALID, None), (OFFSET_INVALID, None)],
        [(7, None), (7, None)],
        [(7, note({"shop": Place(7, 0)})), (7, note({"shop": Place(7, 0)}))],
        [(7, note({"shop": Place(7, 2**50)})), (7, note({"other": Place(7, 2**50)}))],
        [(999, note({"shop": Place(999, 2**50)})), (7, note({"shop": Place(7, 2**50)}))],
    ],
    ids=["nothing", "no places", "too long ago", "not of all partitions", "of another topic's life"],
)
def test_who_may_have_missed_something_begins_anew(monkeypatch, told):
    made, anew = started(monkeypatch, told, "shop")

    assert anew == [True]
    assert made._consumer.assigned == {0: 100, 1: 100}
    assert made._places() == []


def test_health_tells_of_endpoints_and_of_standing_still():
    now = [0.0]
    health = WebhooksHealth(lambda: now[0])
    assert health.why_not_ready()
    health.turn()
    assert (health.why_not_ready(), health.why_not_live()) == ([], [])
    health.down = frozenset({"shop"})
    now[0] = STUCK_SECONDS + 1
    assert "shop" in health.why_not_ready()[0]
    assert health.why_not_live()
    health.ends()
    assert health.why_not_ready()[0] == "shutting down"


def test_the_receiver_of_the_docs_holds_what_it_is_told():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    source, _, _ = code[1].partition("HTTPServer((")
    told: dict[str, Any] = {}
    exec(compile(source.replace("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", SECRET), "receiver", "exec"), told)
    kind: type[BaseHTTPRequestHandler] = told["Receiver"]
    kind.log_message = lambda *_: None  # type: ignore[method-assign]
    server = HTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    async def deliver() -> None:
        async def nothing(*_: object) -> Any:
            for each in ():
                yield each

        url = f"http://127.0.0.1:{server.server_port}/"
        endpoint = Endpoint(name="docs", url=url, secret=SecretStr(SECRET))
        async with new_session() as session:
            delivery = Delivery(endpoint, session, nothing, None)  # type: ignore[arg-type]
            delivery.begin_anew()
            task = asyncio.create_task(delivery.run())
            give_up = time.monotonic() + PATIENCE_SECONDS
            while delivery.place({0: 3}, 0) is None:
                assert time.monotonic() < give_up
                await asyncio.sleep(0.01)
            for each in (news("ann", 1), news("bob", 2), News(news("bob").key, None, 0, 3, 0)):
                delivery.take(each)
            while len(delivery.queue):
                assert time.monotonic() < give_up
                await asyncio.sleep(0.01)
            task.cancel()

    told["held"]["old", "films"] = "from before"
    asyncio.run(deliver())
    server.shutdown()
    assert told["held"] == {("ann", "films"): "likes: noir", ("bob", "films"): None}


def test_away_is_shorter_than_kafka_keeps_tombstones():
    assert AWAY_HOURS * MS_PER_HOUR < 24 * MS_PER_HOUR
