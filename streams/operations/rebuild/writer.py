"""Rebuilt skills on their way to the compacted topics."""

from streams.exceptions import NotProduced
from streams.kafka.producer import Outbox
from streams.settings import Settings

FLUSH_SECONDS = 60.0


class Writer:
    """Produces on the compacted topics; made when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._outbox: Outbox | None = None

    def write(self, base: str, partition: int, key: bytes, value: bytes) -> int:
        """Send one record; how many that is."""
        self._outbox = self._outbox or Outbox(self._settings)
        self._outbox.send(self._settings.topic(base), key, value, partition)
        return 1

    def flush(self) -> None:
        """Wait until the broker has all of it.

        Raises:
            NotProduced: it did not take everything.
        """
        if self._outbox is None:
            return
        try:
            self._outbox.flush(FLUSH_SECONDS, "skills")
        except NotProduced as error:
            raise NotProduced(
                f"not all skills could be written ({error}). Start it again: what is equal is left alone"
            ) from error
