"""What counts how much in a domain's rankings, learned from its choices: decision 0021.

Where a person is known, a choice becomes an `outcome`: numbers without a person, an item or words. Whoever learns a
domain's weights folds outcomes, and a ranking goes by what came of them.
"""

from operators.weigh.learn import commanded, learned, start
from operators.weigh.limits import in_use, of_dimension, of_mix, start_of
from operators.weigh.outcome import outcome, outcome_id, outcome_of

__all__ = [
    "commanded",
    "in_use",
    "learned",
    "of_dimension",
    "of_mix",
    "outcome",
    "outcome_id",
    "outcome_of",
    "start",
    "start_of",
]
