"""Sends dead letters for the topics that no agent reads.

They are flushed before the DuckDB transaction commits. After a crash in between, the record is refused again with the
same derived id.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from schemas import MAX_ORIGINAL_BYTES, TOPICS, BadRecord, DeadLetter, Position, encode
from streams.analytics import MaterializerError
from streams.analytics.records import KafkaRecord
from streams.exceptions import NotProduced
from streams.kafka.producer import RecordWriter
from streams.metrics import DEAD_LETTERS
from streams.settings import Settings

log = logging.getLogger(__name__)

# The public topics that no agent reads: agents dead-letter bad records of the others.
OWN_TOPICS = frozenset(
    base for base, topic in TOPICS.items() if not (topic.is_consumed or topic.internal or base == DeadLetter.TOPIC)
)

STAGE = "materialize"
CLIPPED_BYTES = 4_096
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
        self._writer = RecordWriter(settings, **config)

    def send(self, refused: Sequence[tuple[KafkaRecord, BadRecord]]) -> None:
        """Send dead letters; after an error the batch must not be committed."""
        if not refused:
            return
        try:
            self._deliver(refused, MAX_ORIGINAL_BYTES)
        except NotProduced as error:
            # The broker's limit may be below ours. A clipped letter is better than a stop at this record for ever.
            log.warning("%s; they are sent again, clipped", error)
            self._deliver_clipped(refused)
        for _, why in refused:
            DEAD_LETTERS.labels(stage=STAGE, reason=why.reason).inc()

    def _deliver(self, refused: Sequence[tuple[KafkaRecord, BadRecord]], limit: int) -> None:
        now = datetime.now(UTC)
        for record, why in refused:
            letter = dead_letter(record, why, self._prefix, now, limit)
            self._writer.send(self._topic, letter.key, encode(letter))
        self._writer.flush(_FLUSH_SECONDS, "dead letters")

    def _deliver_clipped(self, refused: Sequence[tuple[KafkaRecord, BadRecord]]) -> None:
        try:
            self._deliver(refused, CLIPPED_BYTES)
        except NotProduced as error:
            raise MaterializerError(
                f"{error}; nothing of this batch is committed. Check the broker and start again"
            ) from error


def dead_letter(
    record: KafkaRecord, why: BadRecord, prefix: str, now: datetime, limit: int = MAX_ORIGINAL_BYTES
) -> DeadLetter:
    """Return the dead letter of a record that the materializer refused."""
    at = {"partition": record.partition, "offset": record.offset, "timestamp_ms": record.timestamp_ms}
    source = Position(topic=record.topic.name(prefix), **at)
    return DeadLetter.of(STAGE, source, why.reason, why.detail, record.key, record.value, now, limit)
