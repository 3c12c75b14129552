"""What if a skill had learned otherwise: the same choices with other knobs, compared on what the user took.

An arm learns by the worker's own step, `operators.steps`. `series` puts a log and its events back into the order in
which they were worked on; `replay` folds both sides; `place` and `paired` measure them.
"""

from operators.whatif.paired import Difference, Tally, sign_test
from operators.whatif.place import MEASURES, place
from operators.whatif.replay import Lines, Moment, Popularity, Side, Usual, replay
from operators.whatif.series import Held, HeldCommand, Series, Step, series
from operators.whatif.share import fingerprint, in_share, is_behind

__all__ = [
    "MEASURES",
    "Difference",
    "Held",
    "HeldCommand",
    "Lines",
    "Moment",
    "Popularity",
    "Series",
    "Side",
    "Step",
    "Tally",
    "Usual",
    "fingerprint",
    "in_share",
    "is_behind",
    "place",
    "replay",
    "series",
    "sign_test",
]
