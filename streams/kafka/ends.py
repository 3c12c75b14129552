"""Finds the end of partitions, also of those that are written all the time."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition


class UnreadPartitions:
    """The assigned partitions that are not yet read to their end at the first fetch.

    The client reports an end only after an empty fetch, and a busy partition has none. So the end is also the high
    watermark of the first fetch; the embedded broker gives the true one only there.
    """

    def __init__(self, consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        self._consumer = consumer
        self._ends: dict[tuple[str, int], int | None] = {(each.topic, each.partition): None for each in partitions}

    def __len__(self) -> int:
        return len(self._ends)

    def on_message(self, message: Message) -> None:
        """Count a record or an end that the consumer returned."""
        place, error = (str(message.topic()), int(message.partition() or 0)), message.error()
        if place not in self._ends:
            return
        if error is None:
            end = self._ends[place]
            if end is None:
                marks = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
                end = self._ends[place] = marks[1] if marks else 0
            if int(message.offset() or 0) + 1 < end:
                return
        elif error.code() != KafkaError._PARTITION_EOF:
            return
        del self._ends[place]
