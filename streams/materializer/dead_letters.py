"""Dead letters for the topics that no agent reads; agents send their own.

They are flushed before the DuckDB transaction commits: after a crash in between, the same record is refused again,
under the same derived id, and nobody sees two.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from confluent_kafka import KafkaError, Message, Producer

from schemas import TOPICS, BadRecord, DeadLetter, Position, derived_id, encode
from schemas.dead_letters import MAX_ORIGINAL_BYTES
from streams.materializer.exceptions import MaterializerError
from streams.materializer.records import Record
from streams.settings import Settings

OWNED = frozenset({"items", "global-skills", "slim-skills", "skill-diffs", "skills"})
"""Topics whose bad records are ours to put away."""

STAGE = "materialize"
_FLUSH_SECONDS = 60
_KEY_BYTES = MAX_ORIGINAL_BYTES // 8
_SMALL = 4_096


class DeadLetters:
    """Sends refused records to the topic dead-letters."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._topic = TOPICS["dead-letters"]
        self._producer: Producer | None = None
        self._failed: list[tuple[KafkaError, Message]] = []

    def send(self, refused: Sequence[tuple[Record, BadRecord]]) -> None:
        """Returns when the broker has all of them.

        Raises:
            MaterializerError: it does not take them; nothing of the batch may be committed then.
        """
        if not refused:
            return
        now = datetime.now(UTC)
        self._deliver([dead_letter(record, why, self._settings.prefix, now) for record, why in refused])
        if too_large := [m for error, m in self._failed if error.code() == KafkaError.MSG_SIZE_TOO_LARGE]:
            # A broker with a lower limit than ours. Its position and its beginning are better than a stream that
            # stops at this record for ever.
            sizes = {message.offset() for message in too_large}
            logging.getLogger(__name__).warning("%s dead letters are cut, too large for the broker", len(sizes))
            self._deliver(
                [dead_letter(record, why, self._settings.prefix, now, limit=_SMALL) for record, why in refused]
            )
        if self._failed:
            error = self._failed[0][0]
            raise MaterializerError(
                f"{self._topic.name(self._settings.prefix)} takes no dead letters ({error.str()}); "
                "nothing of this batch is committed. Look at the broker and start again"
            )

    def _deliver(self, letters: Sequence[DeadLetter]) -> None:
        self._failed = []
        producer = self._producer = self._producer or self._new_producer()
        for letter in letters:
            producer.produce(
                self._topic.name(self._settings.prefix),
                key=letter.key,
                value=encode(letter),
                on_delivery=self._on_delivery,
            )
        if left := producer.flush(_FLUSH_SECONDS):
            raise MaterializerError(
                f"{left} dead letters are not delivered after {_FLUSH_SECONDS} s; nothing of this batch is committed. "
                "Is the broker up? Start again"
            )

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append((error, message))

    def _new_producer(self) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._settings.bootstrap,
                "client.id": "sager-materializer",
                "enable.idempotence": False,  # the embedded broker has none; a repeated dead letter is harmless
                "acks": "all",
                "partitioner": "murmur2_random",  # as everywhere: librdkafka's default differs from Java's
                "compression.type": "zstd",
                "message.max.bytes": self._topic.max_message_bytes,
                "message.timeout.ms": (_FLUSH_SECONDS - 10) * 1000,
                "log_level": 2,
            },
            logger=logging.getLogger("streams.materializer.kafka"),
        )


def dead_letter(
    record: Record, why: BadRecord, prefix: str, now: datetime, limit: int = MAX_ORIGINAL_BYTES
) -> DeadLetter:
    """The dead letter of a record that the materializer refused."""
    topic = record.topic.name(prefix)
    key_limit = min(_KEY_BYTES, limit)
    clipped = len(record.value or b"") > limit or len(record.key or b"") > key_limit
    return DeadLetter(
        event_id=derived_id(STAGE, topic, str(record.partition), str(record.offset)),
        occurred_at=now,
        stage=STAGE,
        reason=why.reason,
        detail=("[original bytes clipped] " * clipped + why.detail)[:1_000],
        source=Position(
            topic=topic, partition=record.partition, offset=record.offset, timestamp_ms=record.timestamp_ms
        ),
        key=None if record.key is None else record.key[:key_limit],
        value=None if record.value is None else record.value[:limit],
    )
