"""The end of a long-running process: in order and in time, or at once for who asks twice."""

import logging
import os
import signal
import threading

EXIT_CODE = 70
"""Of a process that gave itself up: its supervisor is to start it again."""

logger = logging.getLogger("sager.shutdown")


def begin(seconds: float) -> None:
    """To be called in the main thread when the first SIGTERM or SIGINT has come.

    The next one ends the process on the spot, as signals do by default. After so many seconds the process ends with
    code 70. Neither loses anything: what is not committed comes again.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    timer = threading.Timer(seconds, _give_up, [seconds])
    timer.daemon = True
    timer.start()


def _give_up(seconds: float) -> None:
    logger.critical("not shut down after %.0f s: ending now; what is not committed comes again", seconds)
    os._exit(EXIT_CODE)
