"""The circuit breaker: blocks calls to an unavailable endpoint, and probes it."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from streams.llm.calls import CallFailed

# The longest Retry-After that is followed.
LONGEST_RETRY_AFTER_SECONDS = 3_600.0
_JITTER = 0.1


class BreakerState(IntEnum):
    """The breaker's states; the numbers are the metric's."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


@dataclass(kw_only=True, eq=False)
class CircuitBreaker:
    """Counts failed calls, and admits or blocks the next one.

    An admitted call ends with exactly one of `succeeded`, `failed` and `abandoned`, with its ticket. A change of state
    voids earlier tickets: only the probe decides about an open circuit, not late failures.
    """

    # Consecutive failures that open it; 0: it never opens.
    failure_threshold: int = 0
    # The first pause. Each failed probe doubles it, up to the longest, unless the endpoint requests a longer one.
    pause_seconds: float = 0.0
    max_pause_seconds: float = 0.0
    # A monotonic clock, in seconds.
    clock: Callable[[], float] = time.monotonic
    # A random number from 0 to 1 that prolongs pauses by up to 10%, so that workers drift apart.
    random_number: Callable[[], float] = random.random
    on_change: "Callable[[CircuitBreaker], None]" = lambda _: None
    state: BreakerState = field(default=BreakerState.CLOSED, init=False)
    # The last failure that opened it; `is_same_outage`: it was a probe's, so the same outage continues.
    failure: CallFailed | None = field(default=None, init=False)
    is_same_outage: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._next_pause = self.pause_seconds
        self._consecutive_failures = self._generation = 0
        self._until = 0.0

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the next call may go out."""
        return max(0.0, self._until - self.clock()) if self.state is BreakerState.OPEN else 0.0

    @property
    def passable(self) -> bool:
        """True if a call may go out now."""
        return self.state is BreakerState.CLOSED or (self.state is BreakerState.OPEN and self.clock() >= self._until)

    def admit(self) -> int | None:
        """Return a ticket for one call; None if it is blocked."""
        if not self.passable:
            return None
        if self.state is BreakerState.OPEN:
            self._change(BreakerState.HALF_OPEN)
        return self._generation

    def succeeded(self, ticket: int) -> None:
        """Record that the endpoint answered, even invalidly."""
        if ticket != self._generation:
            return
        self._consecutive_failures = 0
        if self.state is BreakerState.HALF_OPEN:
            self._next_pause = self.pause_seconds
            self._change(BreakerState.CLOSED)

    def failed(self, ticket: int, failure: CallFailed) -> None:
        """Record that the endpoint failed; a longer Retry-After prolongs the pause."""
        if ticket != self._generation:
            return
        self._consecutive_failures += 1
        probed = self.state is BreakerState.HALF_OPEN
        if probed or (self.failure_threshold and self._consecutive_failures >= self.failure_threshold):
            retry_after = min(failure.retry_after_seconds or 0.0, LONGEST_RETRY_AFTER_SECONDS)
            self.failure = failure
            self._open(max(self._next_pause, retry_after), is_same_outage=probed)
            self._next_pause = min(2 * self._next_pause, self.max_pause_seconds)

    def abandoned(self, ticket: int) -> None:
        """Record that the call ended without a verdict."""
        if ticket == self._generation and self.state is BreakerState.HALF_OPEN:
            self._open(0.0, is_same_outage=True)

    def _open(self, pause: float, *, is_same_outage: bool) -> None:
        self._until = self.clock() + pause * (1 + _JITTER * self.random_number())
        self.is_same_outage = is_same_outage
        self._consecutive_failures = 0
        self._change(BreakerState.OPEN)

    def _change(self, state: BreakerState) -> None:
        self.state = state
        self._generation += 1
        self.on_change(self)
