"""How certain a line is at a moment: what speaks for it and against it, and how long ago it was said."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from schemas import ONE
from schemas.cards import CardLine, Strength
from schemas.statements import Stance

WEIGHTS: Final = {Strength.SAID: ONE, Strength.IMPLIED: ONE // 2, Strength.SET: 4 * ONE}
"""What one statement of each strength speaks for a line, in 1/1024 of a plain one."""
MAX_WEIGHT: Final = 4 * ONE
"""More than four plain statements say no more."""
HALF_LIVES: Final = {Strength.SAID: 365.0, Strength.IMPLIED: 120.0, Strength.SET: None}
"""Days in which a line that is not confirmed loses half of its certainty; None: it does not fade."""
DOUBT: Final = ONE // 4
"""What speaks against any line from the start."""
FLOOR: Final = 0.1
"""A line that is less certain has faded."""
_MOST_REPEATS: Final = 15
_DAY_SECONDS: Final = 86_400.0


def certainty(line: CardLine, at: datetime) -> float:
    """How certain a line is, 0 to 1: its share of what speaks for and against it, halved every half-life.

    A plain statement is 0.8 certain on its day, a hint 0.67. The half-life is a year for what was said and 120 days for
    what was implied; twice as long for what is avoided, since an avoidance that is forgotten costs more than a taste;
    and longer each time that the repetitions double. What is pinned or was set by a command does not fade.

    >>> from datetime import timezone
    >>> said = CardLine(line_id="prefers:stated:tea", stance="prefers", value="tea", weight=1024,
    ...     since=datetime(2026, 1, 1, tzinfo=timezone.utc), confirmed_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
    ...     version=1)
    >>> certainty(said, said.since), certainty(said, datetime(2027, 1, 1, tzinfo=timezone.utc))
    (0.8, 0.4)
    """
    share: float = line.weight / ((line.weight + line.against + DOUBT) or 1)
    days = HALF_LIVES[line.strength]
    if line.pinned or days is None:
        return share
    age = days_since(line, at)
    repeats = min(line.times, _MOST_REPEATS).bit_length()
    return float(share * 0.5 ** (age / (days * repeats * (2 if line.stance is Stance.AVOIDS else 1))))


def days_since(line: CardLine, at: datetime) -> float:
    """Days since a line was last confirmed; none where that lies ahead of the moment."""
    return max((at - line.confirmed_at).total_seconds() / _DAY_SECONDS, 0.0)


def faded(lines: Iterable[CardLine], at: datetime) -> list[CardLine]:
    """The lines that are too uncertain by now; what is pinned or was set is never among them."""
    return [
        line for line in lines if not (line.pinned or line.strength is Strength.SET) and certainty(line, at) < FLOOR
    ]
