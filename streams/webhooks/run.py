"""Runs `sager webhooks`: follows the slim skills, and commits how far every endpoint was told."""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, Message, Producer, TopicPartition

from schemas import DeadLetter, Position, SlimSkill, encode
from streams import shutdown
from streams.exceptions import NotProduced
from streams.kafka.clients import client_config, producer_config
from streams.kafka.follower import partitions_of
from streams.kafka.scanner import REQUEST_SECONDS, Scanner, int_of, sent_at_ms
from streams.operations.dead_letters.reading import WEBHOOK
from streams.settings import Settings
from streams.webhooks.delivery import AWAY_HOURS, MS_PER_HOUR, Delivery
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.health import WebhooksHealth
from streams.webhooks.messages import News
from streams.webhooks.places import Place, note, noted
from streams.webhooks.posting import new_session

REASON = "refused"
AT_ONCE = 500
POLL_SECONDS = 0.2
COMMIT_SECONDS = 1.0
FLUSH_SECONDS = 30.0

log = logging.getLogger("sager.webhooks")


def run(settings: Settings, endpoints: Sequence[Endpoint], health: WebhooksHealth) -> None:
    """Delivers until SIGTERM or SIGINT.

    Args:
        settings: the deployment.
        endpoints: where to.
        health: updated as the loop runs.

    Raises:
        KafkaException: Kafka refuses this client.
    """
    asyncio.run(_Webhooks(settings, health).run(endpoints))


def group_of(settings: Settings) -> str:
    """The group under which places are committed; nobody joins it, so one process at a time may run."""
    return f"{settings.app_id}-webhooks"


class _Webhooks:
    def __init__(self, settings: Settings, health: WebhooksHealth) -> None:
        self._settings, self._health = settings, health
        self._topic = settings.topic(SlimSkill.TOPIC)
        self._consumer = Consumer(
            client_config(
                settings,
                **{"group.id": group_of(settings), "enable.auto.commit": False, "auto.offset.reset": "earliest"},
            )
        )
        self._deliveries: list[Delivery] = []
        self._from: dict[str, dict[int, int]] = {}
        self._since: dict[str, int] = {}
        self._ends: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._stop = threading.Event()
        self._producer: Producer | None = None

    async def run(self, endpoints: Sequence[Endpoint]) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self._end)
        try:
            async with new_session() as session:
                self._deliveries = [Delivery(each, session, self._everything, self._give_up) for each in endpoints]
                await asyncio.to_thread(self._assign)
                tasks = [asyncio.create_task(each.run()) for each in self._deliveries]
                log.info("posting slim skills to %s endpoints", len(tasks))
                try:
                    await self._follow()
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
                    with suppress(KafkaException):
                        await asyncio.to_thread(self._commit, self._places())
        finally:
            await asyncio.to_thread(self._consumer.close)

    def _end(self) -> None:
        shutdown.begin(self._settings.shutdown_seconds)
        self._health.ends()
        self._stop.set()

    def _assign(self) -> None:
        """Begins where the endpoints are. Who is nowhere, or was away too long, begins anew."""
        partitions = partitions_of(self._consumer, self._topic, self._stop)
        places = [TopicPartition(self._topic, each) for each in partitions]
        committed = self._consumer.committed(places, timeout=REQUEST_SECONDS) if places else []
        known = {each.partition: noted(each.metadata) for each in committed if each.offset != OFFSET_INVALID}
        ends = self._ends = {each: self._high(each) for each in partitions}
        for delivery in self._deliveries:
            name = delivery.endpoint.name
            own = {each: known[each][name] for each in partitions if name in known.get(each, {})}
            if len(own) < len(partitions) or not all(self._is_fresh(own[each], ends[each]) for each in partitions):
                delivery.begin_anew()
            else:
                self._from[name] = {each: place.offset for each, place in own.items()}
                self._since[name] = min((place.at_ms for place in own.values()), default=0)
        for each in partitions:
            self._next[each] = min((start[each] for start in self._from.values()), default=ends[each])
        self._consumer.assign([TopicPartition(self._topic, each, self._next[each]) for each in partitions])

    def _high(self, partition: int) -> int:
        found = self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), timeout=REQUEST_SECONDS)
        return found[1] if found else 0

    def _is_fresh(self, place: Place, end: int) -> bool:
        """Whether nothing can have been missed; the embedded broker says ends that are too low."""
        is_there = self._settings.embedded or place.offset <= end
        return is_there and time.time() * 1000 - place.at_ms < AWAY_HOURS * MS_PER_HOUR

    async def _follow(self) -> None:
        due = 0.0
        while not self._stop.is_set():
            for message in await asyncio.to_thread(self._consumer.consume, AT_ONCE, POLL_SECONDS):
                if message.error() is None:
                    self._take(message)
            self._health.turn()
            if time.monotonic() >= due:
                due = time.monotonic() + COMMIT_SECONDS
                self._measure()
                try:
                    await asyncio.to_thread(self._commit, self._places())
                except KafkaException as error:
                    log.warning("how far endpoints were told could not be committed: %s", error.args[0].str())

    def _take(self, message: Message) -> None:
        news = _news(message)
        self._next[news.partition] = news.offset + 1
        for delivery in self._deliveries:
            name = delivery.endpoint.name
            if news.offset >= self._from.get(name, {}).get(news.partition, 0):
                # What waited at the last end has waited since then.
                is_old = name in self._since and news.offset < self._ends[news.partition]
                delivery.take(replace(news, heard_ms=self._since[name]) if is_old else news)

    def _places(self) -> list[TopicPartition]:
        """What to commit: nothing while every endpoint begins anew."""
        now_ms = int(time.time() * 1000)
        told = {each.endpoint.name: place for each in self._deliveries if (place := each.place(self._next, now_ms))}
        if not told:
            return []
        return [
            TopicPartition(
                self._topic,
                partition,
                min(place[partition].offset for place in told.values()),
                metadata=note({name: place[partition] for name, place in told.items()}),
            )
            for partition in self._next
        ]

    def _commit(self, places: list[TopicPartition]) -> None:
        if places:
            self._consumer.commit(offsets=places, asynchronous=False)

    def _measure(self) -> None:
        now_ms = int(time.time() * 1000)
        for each in self._deliveries:
            each.measure(now_ms)
        self._health.down = frozenset(each.endpoint.name for each in self._deliveries if each.is_down)

    async def _everything(self) -> AsyncIterator[Sequence[News]]:
        batches = self._batches()
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                yield batch
        finally:
            await asyncio.to_thread(batches.close)

    def _batches(self) -> Generator[list[News], None, None]:
        with Scanner(self._settings) as scanner:
            messages = scanner.read(scanner.partitions(SlimSkill.TOPIC))
            while batch := list(islice(messages, AT_ONCE)):
                yield [_news(each) for each in batch]

    async def _give_up(self, news: News, endpoint: Endpoint, what: str) -> None:
        log.warning("the endpoint %s refuses a message for good (%s): it is a dead letter now", endpoint.name, what)
        await asyncio.to_thread(self._send_letter, letter_of(news, endpoint.name, what, self._topic))

    def _send_letter(self, letter: DeadLetter) -> None:
        self._producer = self._producer or Producer(producer_config(self._settings))
        failed: list[object] = []
        self._producer.produce(
            self._settings.topic(DeadLetter.TOPIC),
            encode(letter),
            letter.key,
            on_delivery=lambda error, _: failed.append(error) if error is not None else None,
        )
        if self._producer.flush(FLUSH_SECONDS) or failed:
            raise NotProduced("Kafka did not take a dead letter")


def letter_of(news: News, endpoint: str, what: str, topic: str) -> DeadLetter:
    """The dead letter of a message that an endpoint refuses. Replayed, every endpoint hears of it again."""
    source = Position(topic=topic, partition=news.partition, offset=news.offset, timestamp_ms=news.at_ms)
    detail = f"the endpoint {endpoint} answered with {what}"
    return DeadLetter.of(WEBHOOK, source, REASON, detail, news.key, news.value, datetime.now(UTC))


def _news(message: Message) -> News:
    return News(
        message.key() or b"",
        message.value(),
        int_of(message.partition()),
        int_of(message.offset()),
        sent_at_ms(message),
        int(time.time() * 1000),
    )
