"""How long a worker may stand still, counted in time in which it could have moved: a busy machine is no verdict.

A process that is not scheduled, or an event loop that turns once in ten seconds because others have the processor, has
had less of a chance than the clock says. So the clock is the event loop's own beat, of about a second each. An event
loop that does not beat at all is stuck in one handler: then the looks of whoever watches are counted instead.
"""

from collections.abc import Hashable

BEAT_SECONDS = 1.0


class Patience:
    """Counts how long nothing has changed.

    Args:
        seconds: for how long it lasts.
        look_seconds: how often somebody looks, at most.

    >>> patience = Patience(seconds=2, look_seconds=1)
    >>> [patience.is_over("same", now=float(at), beats=at) for at in range(4)]
    [False, False, True, True]
    >>> patience.is_over("other", now=4, beats=4)
    False
    """

    def __init__(self, seconds: float, look_seconds: float) -> None:
        self._seconds, self._look_seconds = seconds, look_seconds
        self._last: tuple[Hashable, float, int] | None = None
        self._stood = self._unbeaten = 0.0

    def renew(self) -> None:
        """Start anew: there is nothing to do, or nobody knows."""
        self._last = None
        self._stood = self._unbeaten = 0.0

    def is_over(self, standing: Hashable, now: float, beats: int) -> bool:
        """Whether this has been the same for too long.

        Args:
            standing: whatever changes when something was done, or when the worker has to begin anew.
            now: seconds on a monotonic clock.
            beats: how often the event loop has beaten so far.
        """
        if self._last is None or self._last[0] != standing:
            self.renew()
            self._last = (standing, now, beats)
            return False
        _, before, beaten = self._last
        self._last = (standing, now, beats)
        if beats > beaten:
            self._stood += min(now - before, (beats - beaten) * BEAT_SECONDS)
            self._unbeaten = 0.0
        else:
            self._unbeaten += min(now - before, self._look_seconds)
        return max(self._stood, self._unbeaten) >= self._seconds
