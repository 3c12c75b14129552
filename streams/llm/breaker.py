"""The circuit breaker: an endpoint that is away is left in peace, and asked now and then whether it is back."""

from collections.abc import Callable
from enum import IntEnum

from streams.llm.failures import CallFailed

LONGEST_RETRY_AFTER_SECONDS = 3_600.0
"""An endpoint may ask for a longer pause than ours; one that asks for more than this is asked again anyway."""
_JITTER = 0.1


class BreakerState(IntEnum):
    """What becomes of a call; the numbers are those of the metric."""

    CLOSED = 0
    """It goes out."""
    HALF_OPEN = 1
    """One is out, to see whether the endpoint is back; no other goes."""
    OPEN = 2
    """It does not go out; after the pause the next one is the probe."""


class CircuitBreaker:
    """Counts what an endpoint does to calls, and says whether the next one may go out. Pure but for its own state.

    A call that is admitted ends in exactly one of `succeeded`, `failed` and `left`, with the ticket that it was given.
    Tickets of calls that were under way when the state changed are void: only the probe says how an open circuit goes
    on, however many late failures come in.

    Args:
        failures: so many in a row open it; 0: it never opens.
        pause_seconds: the first pause. Each failed probe doubles it.
        max_pause_seconds: the longest pause, unless the endpoint asks for a longer one.
        clock: seconds that only grow.
        chance: a number from 0 to 1, evenly spread: pauses are that much of 10% longer, so that workers drift apart.
        on_change: told of every change of state, after it.
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
        if failures < 0 or pause_seconds < 0 or max_pause_seconds < pause_seconds:
            raise ValueError(
                "failures and pause_seconds must not be negative, max_pause_seconds not below pause_seconds"
            )
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
        self.failure: CallFailed | None = None
        """What opened it last."""
        self.still_away = False
        """Whether that was a probe's failure, or a probe that came to nothing: the same outage goes on."""

    @property
    def remaining_seconds(self) -> float:
        """How long no call will go out for certain; 0 when one may."""
        return max(0.0, self._until - self._clock()) if self.state is BreakerState.OPEN else 0.0

    @property
    def passable(self) -> bool:
        """Whether a call that came now would go out."""
        return self.state is BreakerState.CLOSED or (self.state is BreakerState.OPEN and self._clock() >= self._until)

    def admit(self) -> int | None:
        """A ticket for one call, or None if it must not go out. After the pause, the first to ask is the probe."""
        if not self.passable:
            return None
        if self.state is BreakerState.OPEN:
            self._change(BreakerState.HALF_OPEN)
        return self._era

    def succeeded(self, ticket: int) -> None:
        """The endpoint has answered, be it with nonsense: it is there."""
        if ticket != self._era:
            return
        self._in_a_row = 0
        if self.state is BreakerState.HALF_OPEN:
            self._next_pause = self._first_pause
            self._change(BreakerState.CLOSED)

    def failed(self, ticket: int, failure: CallFailed) -> None:
        """The endpoint did not do its work; if it asked for a longer pause than ours, it gets that."""
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
        """The call ended without telling anything of the endpoint, for example because it was cancelled."""
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
