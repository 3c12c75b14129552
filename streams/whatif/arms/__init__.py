"""Arms beside the live one: what of the configuration they may change, and how they reason and rank with it."""

from streams.whatif.arms.knobs import NAMES, BadKnob, Knobs, knobs_of, parsed
from streams.whatif.arms.sides import lines_that_rank, side_of

__all__ = ["NAMES", "BadKnob", "Knobs", "knobs_of", "lines_that_rank", "parsed", "side_of"]
