"""How long a test waits for what it expects: no verdict depends on how busy the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

WAIT_SECONDS = 180.0
"""Far more than any of it takes on a machine that does a dozen other things. A passing test never waits so long."""


def until(done: Callable[[], T], what: str, told: Callable[[], str] = str, pause_seconds: float = 0.05) -> T:
    """Ask `done` until its answer is true, and return the answer.

    Args:
        done: what is asked again and again.
        what: is waited for; the failure names it.
        told: what else the failure tells, such as the end of logs.
        pause_seconds: between two questions.
    """
    give_up = time.monotonic() + WAIT_SECONDS
    while not (answer := done()):
        assert time.monotonic() < give_up, f"waited {WAIT_SECONDS:.0f} s for {what}\n{told()}"
        time.sleep(pause_seconds)
    return answer
