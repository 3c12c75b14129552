"""Two arms on the same choices: the mean difference, and how far chance among users may have moved it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from operators.whatif.place import MEASURES

_EXACT = 1_000
"""Up to so many users the sign test is counted out, beyond it is approximated."""


@dataclass(frozen=True)
class Difference:
    """One measure on both sides.

    Attributes:
        live: its mean over choices with the live skill.
        other: with the other one.
        error: the standard error of the difference, by users: choices of one user are no independent witnesses.
            None where there are fewer than two.
    """

    live: float
    other: float
    error: float | None

    @property
    def delta(self) -> float:
        """How much better the other side is."""
        return self.other - self.live

    @property
    def margin(self) -> float | None:
        """Half of the 95% interval around `delta`."""
        return None if self.error is None else 1.96 * self.error


@dataclass
class _OfUser:
    choices: int = 0
    live: dict[str, float] = field(default_factory=lambda: dict.fromkeys(MEASURES, 0.0))
    other: dict[str, float] = field(default_factory=lambda: dict.fromkeys(MEASURES, 0.0))


class Tally:
    """Sums per user of what both sides were worth."""

    def __init__(self) -> None:
        self._users: dict[str, _OfUser] = {}

    def add(self, user_id: str, live_place: int, other_place: int) -> None:
        """Count one choice."""
        user = self._users.setdefault(user_id, _OfUser())
        user.choices += 1
        for name, worth in MEASURES.items():
            user.live[name] += worth(live_place)
            user.other[name] += worth(other_place)

    @property
    def users(self) -> int:
        """Of how many users there was a choice."""
        return len(self._users)

    @property
    def choices(self) -> int:
        """How many choices were counted."""
        return sum(user.choices for user in self._users.values())

    def differences(self) -> Mapping[str, Difference]:
        """Every measure on both sides; nothing where there was no choice."""
        return {name: self._difference(name) for name in MEASURES} if self._users else {}

    def _difference(self, name: str) -> Difference:
        users, choices = list(self._users.values()), self.choices
        live = math.fsum(user.live[name] for user in users) / choices
        other = math.fsum(user.other[name] for user in users) / choices
        if len(users) < 2:  # noqa: PLR2004 - one user has no spread
            return Difference(live, other, None)
        # A ratio of sums over users: its linearised variance, which an SQL view can work out as well.
        spread = math.fsum((user.other[name] - user.live[name] - (other - live) * user.choices) ** 2 for user in users)
        return Difference(live, other, math.sqrt(spread * len(users) / (len(users) - 1)) / choices)

    def signs(self, name: str = "ndcg_at_5") -> tuple[int, int, int]:
        """How many users fare better with the other side, worse, and alike."""
        deltas = [user.other[name] - user.live[name] for user in self._users.values()]
        better, worse = sum(d > _TINY for d in deltas), sum(d < -_TINY for d in deltas)
        return better, worse, len(deltas) - better - worse


_TINY = 1e-12


def sign_test(better: int, worse: int) -> float:
    """How likely so uneven a split is by chance, if neither side were better: the two-sided sign test.

    >>> round(sign_test(9, 1), 4), sign_test(0, 0)
    (0.0215, 1.0)
    """
    total = better + worse
    if not total:
        return 1.0
    if total > _EXACT:
        # With the correction for continuity.
        return math.erfc(max(0.0, abs(better - worse) - 1) / math.sqrt(2 * total))
    tail = sum(math.comb(total, n) for n in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / (1 << total))
