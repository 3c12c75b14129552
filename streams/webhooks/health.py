"""Health of `sager webhooks`: it reads, and its endpoints answer or not."""

import time
from collections.abc import Callable

STUCK_SECONDS = 60.0


class WebhooksHealth:
    """The loop updates it; the HTTP server's threads read it.

    Args:
        clock: a monotonic clock, in seconds.

    Attributes:
        down: the names of endpoints that do not answer.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned_at = clock()
        self._doing = "looking for Kafka and its topics"
        self._is_ending = False
        self.down: frozenset[str] = frozenset()

    def turn(self) -> None:
        """The loop has turned; the start is done."""
        self._doing = ""
        self._turned_at = self._clock()

    def ends(self) -> None:
        """The shutdown has begun."""
        self._is_ending = True

    def why_not_live(self) -> list[str]:
        """Why it should be restarted; an endpoint that does not answer is no reason."""
        still = self._clock() - self._turned_at
        return [f"nothing was read for {still:.0f} s"] if still > STUCK_SECONDS and not self._doing else []

    def why_not_ready(self) -> list[str]:
        """Why messages do not arrive."""
        return [
            *(["shutting down"] if self._is_ending else []),
            *([self._doing] if self._doing else []),
            *(f"the endpoint {name} does not take messages" for name in sorted(self.down)),
        ]
