"""A local copy of the slim skills: follows the compacted topic, answers from memory."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from schemas import BadRecord, SlimSkill, decode
from streams.exceptions import BrokerUnreachable
from streams.kafka import client_config
from streams.settings import Settings

READY_SECONDS = 30.0


class SlimSkills:
    """All slim skills of a deployment, as of now. Use it as a context manager, one per process.

    It reads the topic from its beginning in a thread, without a consumer group, so that any number of apps can
    follow it. Entering waits until all that was there has been read.

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        settings: the whole configuration.
        on_change: called with every slim skill that is new, in the reading thread.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        settings: Settings | None = None,
        on_change: Callable[[SlimSkill], None] | None = None,
    ) -> None:
        chosen = settings or Settings()
        self._settings = chosen.model_copy(update={"bootstrap": bootstrap}) if bootstrap else chosen
        self._on_change = on_change
        self._held: dict[bytes, SlimSkill] = {}
        self._by_user: dict[tuple[str, str], SlimSkill] = {}
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._unread: set[int] = set()
        self._thread = threading.Thread(target=self._follow, name="slim-skills", daemon=True)

    def get(self, user_id: str, domain: str) -> str:
        """The text to inject into this user's prompt; empty while nothing is known of them."""
        held = self._by_user.get((user_id, domain))
        return held.text if held else ""

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """The whole slim skill, with its version and token count."""
        return self._by_user.get((user_id, domain))

    def __len__(self) -> int:
        return len(self._by_user)

    def start(self, seconds: float = READY_SECONDS) -> Self:
        """Begin to follow, and wait until all that is on the topic has been read.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
        """
        self._thread.start()
        if not self._ready.wait(seconds):
            self.stop()
            raise BrokerUnreachable(
                f"the slim skills could not be read within {seconds:.0f} s from {self._settings.bootstrap}: "
                "is Kafka up, and do the topics exist? `sager topics` tells"
            )
        return self

    def stop(self) -> None:
        """End the reading thread; what was read can still be asked for."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _follow(self) -> None:
        name = self._settings.topic(SlimSkill.TOPIC)
        consumer = Consumer(
            client_config(
                self._settings,
                **{
                    "group.id": "sager-slim-skills-unused",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                },
            )
        )
        try:
            partitions = self._partitions(consumer, name)
            self._unread = set(partitions)
            consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in partitions])
            while not self._stop.is_set():
                for message in consumer.consume(500, 0.2):
                    self._take(message)
                if not self._unread:
                    self._ready.set()
        finally:
            consumer.close()

    def _partitions(self, consumer: Consumer, name: str) -> list[int]:
        while not self._stop.is_set():
            try:
                found = consumer.list_topics(name, timeout=5).topics[name]
            except Exception:  # the broker may still be starting; start() has the deadline
                time.sleep(0.2)
                continue
            if found.error is None and found.partitions:
                return sorted(found.partitions)
            time.sleep(0.2)
        return []

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(_int(message.partition()))
            return
        key, value = message.key() or b"", message.value()
        if value is None:
            gone = self._held.pop(key, None)
            if gone is not None:
                self._by_user.pop((gone.user_id, gone.domain), None)
            return
        try:
            skill = decode(SlimSkill, value)
        except BadRecord:
            # Not ours to dead-letter: the materializer, which reads this topic too, does that.
            return
        held = self._held.get(key)
        if held is not None and held.skill_version > skill.skill_version:
            return
        self._held[key] = skill
        self._by_user[skill.user_id, skill.domain] = skill
        if self._on_change is not None and held != skill:
            self._on_change(skill)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _int(value: Any) -> int:
    return int(value)
