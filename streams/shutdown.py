"""Graceful shutdown with a deadline."""

import logging
import os
import signal
import threading

EXIT_CODE = 70  # of a process that gave up: its supervisor restarts it

logger = logging.getLogger("sager.shutdown")


def start(seconds: float) -> None:
    """Set the deadline, after which the process exits with code 70.

    Neither the deadline nor a second signal loses data: uncommitted records are read again.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    timer = threading.Timer(seconds, _give_up, [seconds])
    timer.daemon = True
    timer.start()


def _give_up(seconds: float) -> None:
    logger.critical("not shut down after %.0f s: ending now; uncommitted records are read again", seconds)
    os._exit(EXIT_CODE)
