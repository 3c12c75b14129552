"""The circuit breaker: blocks calls to an unavailable endpoint, and probes it."""

from collections.abc import Callable
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


class CircuitBreaker:
    """Counts failed calls, and admits or blocks the next one.

    An admitted call ends with exactly one of `succeeded`, `failed` and `left`, with its ticket. A change of state voids
    earlier tickets: only the probe decides about an open circuit, not late failures.

    Args:
        failures: consecutive failures that open it; 0: it never opens.
        pause_seconds: the first pause. Each failed probe doubles it.
        max_pause_seconds: the longest pause, unless the endpoint requests a longer one.
        clock: a monotonic clock, in seconds.
        chance: a random number from 0 to 1 that prolongs pauses by up to 10%, so that workers drift apart.
        on_change: called after every change of state.
    """

    def __init__(
        self,
        *,
        failures: int,
        pause_seconds: float,
        max_pause_seconds: float,
        clock: Callable[[], float],
        chance: Callable[[], float],
        on_change: "Callable[[CircuitBreaker], None] | None" = None,
    ) -> None:
        self._failures = failures
        self._first_pause = pause_seconds
        self._max_pause = max_pause_seconds
        self._clock = clock
        self._chance = chance
        self._on_change = on_change or (lambda _: None)
        self._in_a_row = 0
        self._next_pause = pause_seconds
        self._until = 0.0
        self._era = 0
        self.state = BreakerState.CLOSED
        # The last failure that opened it; `still_away`: it was a probe's, so the same outage continues.
        self.failure: CallFailed | None = None
        self.still_away = False

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the next call may go out."""
        return max(0.0, self._until - self._clock()) if self.state is BreakerState.OPEN else 0.0

    @property
    def passable(self) -> bool:
        """True if a call may go out now."""
        return self.state is BreakerState.CLOSED or (self.state is BreakerState.OPEN and self._clock() >= self._until)

    def admit(self) -> int | None:
        """Return a ticket for one call; None if it is blocked."""
        if not self.passable:
            return None
        if self.state is BreakerState.OPEN:
            self._change(BreakerState.HALF_OPEN)
        return self._era

    def succeeded(self, ticket: int) -> None:
        """Record that the endpoint answered, even invalidly."""
        if ticket != self._era:
            return
        self._in_a_row = 0
        if self.state is BreakerState.HALF_OPEN:
            self._next_pause = self._first_pause
            self._change(BreakerState.CLOSED)

    def failed(self, ticket: int, failure: CallFailed) -> None:
        """Record that the endpoint failed; a longer Retry-After prolongs the pause."""
        if ticket != self._era:
            return
        self._in_a_row += 1
        probed = self.state is BreakerState.HALF_OPEN
        if probed or (self._failures and self._in_a_row >= self._failures):
            asked = min(failure.retry_after_seconds or 0.0, LONGEST_RETRY_AFTER_SECONDS)
            self.failure = failure
            self._open(max(self._next_pause, asked), still_away=probed)
            self._next_pause = min(2 * self._next_pause, self._max_pause)

    def left(self, ticket: int) -> None:
        """Record that the call ended without a verdict."""
        if ticket == self._era and self.state is BreakerState.HALF_OPEN:
            self._open(0.0, still_away=True)

    def _open(self, pause: float, *, still_away: bool) -> None:
        self._until = self._clock() + pause * (1 + _JITTER * self._chance())
        self.still_away = still_away
        self._in_a_row = 0
        self._change(BreakerState.OPEN)

    def _change(self, state: BreakerState) -> None:
        self.state = state
        self._era += 1
        self._on_change(self)
