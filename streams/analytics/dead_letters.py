"""Sends dead letters for the topics that no agent reads.

They are flushed before the DuckDB transaction commits. After a crash in between, the record is refused again with the
same derived id.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas import MAX_ORIGINAL_BYTES, TOPICS, BadRecord, DeadLetter, Position, encode
from streams.analytics import MaterializerError
from streams.analytics.records import KafkaRecord
from streams.kafka.clients import producer_config
from streams.metrics import DEAD_LETTERS
from streams.settings import Settings

log = logging.getLogger(__name__)

# The public topics that no agent reads: agents dead-letter bad records of the others.
OWN_TOPICS = frozenset(
    base for base, topic in TOPICS.items() if not (topic.is_consumed or topic.internal or base == DeadLetter.TOPIC)
)

STAGE = "materialize"
_FLUSH_SECONDS = 60


class DeadLetterSender:
    """Sends refused records to the topic dead-letters."""

    def __init__(self, settings: Settings) -> None:
        self._prefix, self._topic = settings.prefix, settings.topic(DeadLetter.TOPIC)
        config = {
            "client.id": "sager-materializer",
            "message.max.bytes": TOPICS[DeadLetter.TOPIC].max_message_bytes,
            "message.timeout.ms": (_FLUSH_SECONDS - 10) * 1000,
        }
        self._producer = Producer(producer_config(settings, **config), logger=logging.getLogger("sager.kafka"))

    def send(self, refused: Sequence[tuple[KafkaRecord, BadRecord]]) -> None:
        """Send dead letters; after an error the batch must not be committed."""
        if not refused:
            return
        failed = self._deliver(refused)
        if any(error.code() == KafkaError.MSG_SIZE_TOO_LARGE for error in failed):
            # The broker's limit is below ours. A clipped letter is better than a stop at this record for ever.
            log.warning("%s refuses large records; dead letters are clipped", self._topic)
            failed = self._deliver(refused, limit=4_096)
        if failed:
            raise MaterializerError(
                f"{self._topic} refuses dead letters ({failed[0].str()}); nothing of this batch is committed. "
                "Check the broker and start again"
            )
        for _, why in refused:
            DEAD_LETTERS.labels(stage=STAGE, reason=why.reason).inc()

    def _deliver(
        self, refused: Sequence[tuple[KafkaRecord, BadRecord]], limit: int = MAX_ORIGINAL_BYTES
    ) -> list[KafkaError]:
        failed: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _: Message) -> None:
            failed.extend([error] if error is not None else [])

        now = datetime.now(UTC)
        for record, why in refused:
            letter = dead_letter(record, why, self._prefix, now, limit)
            try:
                self._producer.produce(self._topic, encode(letter), letter.key, on_delivery=on_delivery)
            except KafkaException as error:
                # The producer raises for its own size limit, without calling the callback.
                failed.append(error.args[0])
        if left := self._producer.flush(_FLUSH_SECONDS):
            raise MaterializerError(
                f"{left} dead letters were not delivered within {_FLUSH_SECONDS} s; this batch is not committed. "
                "Is the broker up? Start again"
            )
        return failed


def dead_letter(
    record: KafkaRecord, why: BadRecord, prefix: str, now: datetime, limit: int = MAX_ORIGINAL_BYTES
) -> DeadLetter:
    """Return the dead letter of a record that the materializer refused."""
    at = {"partition": record.partition, "offset": record.offset, "timestamp_ms": record.timestamp_ms}
    source = Position(topic=record.topic.name(prefix), **at)
    return DeadLetter.of(STAGE, source, why.reason, why.detail, record.key, record.value, now, limit)
