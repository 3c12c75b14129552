"""What a worker logs of Faust's and aiokafka's own: what an operator acts on, and not a hundred times a second."""

import logging
import time
from collections.abc import Callable

REPEAT_SECONDS = 10.0
REPETITIVE = ("aiokafka", "mode.timers")
"""Without a broker aiokafka logs each of its attempts, some 100 lines a second for as long as that lasts."""


class Seldom(logging.Filter):
    """Lets each message of some loggers through once in a while, whatever its arguments, and counts the others.

    Args:
        names: the loggers, with all below them; others are let through.
        seconds: how long a message is held back after it was let through.
        clock: what tells the time.
    """

    def __init__(
        self, names: tuple[str, ...], seconds: float = REPEAT_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._names, self._seconds, self._clock = names, seconds, clock
        self._told: dict[tuple[str, str], float] = {}
        self._held: dict[tuple[str, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be written; one that is says how many like it were not."""
        if record.exc_info or not any(
            record.name == name or record.name.startswith(f"{name}.") for name in self._names
        ):
            return True
        message, now = (record.name, str(record.msg)), self._clock()
        if now - self._told.get(message, float("-inf")) < self._seconds:
            self._held[message] = self._held.get(message, 0) + 1
            return False
        self._told[message] = now
        if held := self._held.pop(message, 0):
            record.msg, record.args = f"{record.getMessage()} (and {held} more like it)", ()
        return True


def quiet() -> None:
    """Apply it to the handlers that there are."""
    for name in ("faust", "mode", "aiokafka", "streams.worker.runtime.repairs"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(Seldom(REPETITIVE))
