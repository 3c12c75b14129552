"""Writes rebuilt skills to the compacted topics."""

from schemas import TOPICS
from streams.exceptions import NotProduced
from streams.kafka.packed import pack
from streams.kafka.producer import Outbox
from streams.settings import Settings

FLUSH_SECONDS = 60.0


class Writer:
    """A producer for the compacted topics, created on first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._outbox: Outbox | None = None

    def write(self, base: str, partition: int, key: bytes, value: bytes | None) -> int:
        """Sends one record, or a tombstone; returns 1."""
        self._outbox = self._outbox or Outbox(self._settings)
        if value is not None and TOPICS[base].packed:
            value = pack(value)
        self._outbox.send(self._settings.topic(base), key, value, partition)
        return 1

    def flush(self) -> None:
        """Waits until the broker has acknowledged all records.

        Raises:
            NotProduced: the broker did not accept everything.
        """
        if self._outbox is None:
            return
        try:
            self._outbox.flush(FLUSH_SECONDS, "skills")
        except NotProduced as error:
            raise NotProduced(
                f"not all skills could be written ({error}). Run it again: equal skills are left alone"
            ) from error
