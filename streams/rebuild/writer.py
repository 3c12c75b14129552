"""Rebuilt skills on their way to the compacted topics."""

from confluent_kafka import KafkaError, Message, Producer

from streams.exceptions import NotProduced
from streams.kafka import producer_config
from streams.settings import Settings

FLUSH_SECONDS = 60.0


class Writer:
    """Produces on the compacted topics; made when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Producer | None = None
        self._failed: list[str] = []

    def write(self, base: str, partition: int, key: bytes, value: bytes) -> int:
        """Send one record; how many that is."""
        self._producer = self._producer or Producer(producer_config(self._settings))
        while True:
            try:
                self._producer.produce(
                    self._settings.topic(base), key=key, value=value, partition=partition, on_delivery=self._delivered
                )
            except BufferError:
                self._producer.poll(0.5)
            else:
                self._producer.poll(0)
                return 1

    def flush(self) -> None:
        """Wait until the broker has all of it.

        Raises:
            NotProduced: it did not take everything.
        """
        left = self._producer.flush(FLUSH_SECONDS) if self._producer else 0
        if left or self._failed:
            told = self._failed[0] if self._failed else f"{left} unsent after {FLUSH_SECONDS:.0f} s"
            raise NotProduced(f"not all skills could be written ({told}). Start it again: what is equal is left alone")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(f"{message.topic()}: {error.str()}")
