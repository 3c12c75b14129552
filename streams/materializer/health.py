"""The materializer's health: its loop turns, a broker answers, it can publish."""

import time
from collections.abc import Callable

IDLE_SECONDS = 60.0
"""Not ready after this long without a turn of the loop: a long rewriting, or a slow disk."""
STUCK_SECONDS = 3_600.0
"""Not live after this long: no checkpoint and no rewriting takes longer."""


class MaterializerHealth:
    """The loop updates it; the HTTP server's threads read it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned_at = clock()
        self._is_ending = False
        self.doing = "opening the DuckDB file"
        """The step of the start that is under way; empty once records are read."""
        self.broker_answers = True
        self.can_publish = True

    def ends(self) -> None:
        """Mark the shutdown: no new batch begins."""
        self._is_ending = True

    def turn(self) -> None:
        """Mark one turn of the loop."""
        self._turned_at, self.doing = self._clock(), ""

    def why_not_live(self) -> list[str]:
        """Return reasons to restart this materializer; none while it is live."""
        still = self._clock() - self._turned_at
        return [f"nothing has been read, written or published for {still:.0f} s"] if still > STUCK_SECONDS else []

    def why_not_ready(self) -> list[str]:
        """Return reasons why rows do not arrive in DuckDB or in the snapshot; none while they do."""
        still = self._clock() - self._turned_at
        return [
            *(["shutting down"] if self._is_ending else []),
            *([self.doing] if self.doing else []),
            *([f"no poll for {still:.0f} s"] if still > IDLE_SECONDS else []),
            *(["no broker answers"] if not self.broker_answers else []),
            *(["the snapshot cannot be published; see the log"] if not self.can_publish else []),
        ]
