"""`sager worker`: runs the app in a Faust worker until a signal."""

import logging
import time
from collections.abc import Callable

from streams.settings import Settings
from streams.worker.create import GracefulWorker, create
from streams.worker.runtime.watchdog import WorkerHealth

REPEAT_SECONDS = 10.0
# Without a broker, aiokafka logs each attempt: about 100 lines per second.
REPETITIVE = ("aiokafka", "mode.timers")


def run(settings: Settings, health: WorkerHealth) -> None:
    """Run one worker until SIGTERM or SIGINT, then finish events in flight."""
    app = create(settings).app
    app.health = health
    # Not in Faust's event loop, so that the user sees an error without a traceback.
    app.prepare()
    # With warn or error, Faust sets the root logger to DEBUG.
    worker = GracefulWorker(app, loglevel="info", redirect_stdouts=False, override_logging=False, quiet=True)
    for name in ("faust", "mode", "aiokafka", "streams.worker.runtime.recovery"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(RateLimitFilter(REPETITIVE))
    worker.execute_from_commandline()


class RateLimitFilter(logging.Filter):
    """Passes each message of these loggers once per `seconds`, and counts the others."""

    def __init__(
        self, names: tuple[str, ...], seconds: float = REPEAT_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._names, self._seconds, self._clock = names, seconds, clock
        self._logged: dict[tuple[str, str], float] = {}
        self._held: dict[tuple[str, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return true to log the record, with the number of suppressed ones like it."""
        if record.exc_info or not any(
            record.name == name or record.name.startswith(f"{name}.") for name in self._names
        ):
            return True
        message, now = (record.name, str(record.msg)), self._clock()
        if now - self._logged.get(message, float("-inf")) < self._seconds:
            self._held[message] = self._held.get(message, 0) + 1
            return False
        self._logged[message] = now
        if held := self._held.pop(message, 0):
            record.msg, record.args = f"{record.getMessage()} (and {held} more like it)", ()
        return True
