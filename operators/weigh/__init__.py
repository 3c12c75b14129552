"""What counts how much in a domain's rankings, learned from its choices: decision 0021.

Where a person is known, a choice becomes an `outcome`: numbers without a person, an item or words. Whoever learns a
domain's weights folds outcomes, and a ranking goes by what came of them.
"""

from operators.weigh.learn import commanded, learned, start
from operators.weigh.limits import DEFAULT_LIMITS, WeighLimits, in_use
from operators.weigh.outcome import outcome, outcome_id, outcome_of

__all__ = [
    "DEFAULT_LIMITS",
    "WeighLimits",
    "commanded",
    "in_use",
    "learned",
    "outcome",
    "outcome_id",
    "outcome_of",
    "start",
]
