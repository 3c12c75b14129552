"""The weight of each signal, in units of a choice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas import BEST, WORST, Feedback, Signal

# A longer look counts no more.
FULL_DWELL_SECONDS = 60.0
# From this weight down, a signal against an item is a statement that avoids it.
STATEMENT_WEIGHT = 0.75
# The greatest weights of the known signals; of a rating, that of its best and its worst.
SIGNAL_WEIGHTS: Mapping[str, float] = {
    Signal.LIKED: 0.75,
    Signal.DISLIKED: -0.75,
    Signal.RATED: 1.0,
    Signal.SAVED: 0.5,
    Signal.HIDDEN: -0.75,
    Signal.SKIPPED: -0.1,
    Signal.DWELLED: 0.25,
    Signal.PURCHASED: 1.0,
    Signal.RETURNED: -1.0,
}


@dataclass(frozen=True)
class SignalWeights:
    """The weights of a deployment, by kind, from -1 to 1."""

    weights: Mapping[str, float] = field(default_factory=lambda: SIGNAL_WEIGHTS, hash=False)

    @classmethod
    def of(cls, overrides: Mapping[str, float]) -> "SignalWeights":
        """Add or replace weights; raise ValueError outside -1 to 1."""
        if wrong := sorted(name for name, weight in overrides.items() if not -1.0 <= weight <= 1.0):
            raise ValueError(f"the weight of {', '.join(wrong)} must be between -1 and 1")
        return cls({**SIGNAL_WEIGHTS, **overrides})

    def weight_of(self, feedback: Feedback) -> float | None:
        """Return a signal's weight; None for an unknown kind.

        >>> from datetime import datetime, timezone
        >>> stars = Feedback(event_id="1", occurred_at=datetime(2026, 1, 1, tzinfo=timezone.utc), user_id="ann",
        ...     domain="films", item={"item_id": "alien"}, signal="rated", value=2)
        >>> SignalWeights().weight_of(stars), SignalWeights().weight_of(stars.model_copy(update={"signal": "shared"}))
        (-0.5, None)
        """
        weight = self.weights.get(feedback.signal)
        if weight is None or feedback.value is None:
            return weight
        if feedback.signal == Signal.RATED:
            worst, best = feedback.scale or (WORST, BEST)
            return weight * (2.0 * (feedback.value - worst) / (best - worst) - 1.0)
        if feedback.signal == Signal.DWELLED:
            return weight * min(feedback.value / FULL_DWELL_SECONDS, 1.0)
        return weight


DEFAULT_SIGNALS = SignalWeights()
