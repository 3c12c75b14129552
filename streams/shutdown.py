"""The end of a long-running process: in order and in time, or at once after a second signal."""

import logging
import os
import signal
import threading

EXIT_CODE = 70  # of a process that gave up: its supervisor restarts it

logger = logging.getLogger("sager.shutdown")


def start(seconds: float) -> None:
    """Bound the shutdown; call it in the main thread after the first SIGTERM or SIGINT.

    The next signal ends the process on the spot, and after this time it ends with code 70. Neither loses anything:
    uncommitted records are read again.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    timer = threading.Timer(seconds, _give_up, [seconds])
    timer.daemon = True
    timer.start()


def _give_up(seconds: float) -> None:
    logger.critical("not shut down after %.0f s: ending now; uncommitted records are read again", seconds)
    os._exit(EXIT_CODE)
