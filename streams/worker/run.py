"""`sager worker`: runs the app in a Faust worker until a signal."""

import logging
import time

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
        handler.addFilter(RateLimitFilter())
    worker.execute_from_commandline()


class RateLimitFilter(logging.Filter):
    """Passes a message of these loggers once per ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return true to log the record."""
        if record.exc_info or not record.name.startswith(REPETITIVE):
            return True
        message, now = (record.name, str(record.msg)), time.monotonic()
        if now - self._logged.get(message, float("-inf")) < REPEAT_SECONDS:
            return False
        self._logged[message] = now
        return True
