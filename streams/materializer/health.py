"""What the materializer knows of itself: does its loop turn, does a broker answer, can it publish?"""

import time
from collections.abc import Callable

from streams.materializer.snapshot import COPY_SECONDS

IDLE_SECONDS = 60.0
"""Without a turn of the loop for so long, what is read lies behind: a long copy, or a slow disk."""
STUCK_SECONDS = COPY_SECONDS + 60.0
"""No copy takes longer, and nothing else takes as long."""


class MaterializerHealth:
    """Told by the materializer's loop; asked by the HTTP server's threads.

    Args:
        clock: a monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._doing = "opening the DuckDB file"
        self._is_ending = False
        self._turned_at = clock()
        self.broker_answers = True
        self.can_publish = True

    def starts(self, doing: str) -> None:
        """What is done before records are read."""
        self._doing = doing

    def reads(self) -> None:
        """The file is open and the topics are assigned."""
        self._doing = ""
        self.turn()

    def ends(self) -> None:
        """From here on no new batch is begun."""
        self._is_ending = True

    def turn(self) -> None:
        """The loop has read what there was, if anything, and goes on."""
        self._turned_at = self._clock()

    def why_not_live(self) -> list[str]:
        """Why this materializer should be started again."""
        still = self._clock() - self._turned_at
        return [f"nothing has been read, written or published for {still:.0f} s"] if still > STUCK_SECONDS else []

    def why_not_ready(self) -> list[str]:
        """Why rows do not come, or do not come to the analysts."""
        still = self._clock() - self._turned_at
        return [
            *(["shutting down"] if self._is_ending else []),
            *([self._doing] if self._doing else []),
            *([f"no poll for {still:.0f} s"] if still > IDLE_SECONDS else []),
            *(["no broker answers"] if not self.broker_answers else []),
            *(["the snapshot cannot be published; the log tells why"] if not self.can_publish else []),
        ]
