"""`sager replay`: what had become of skills with other knobs, folded beside the live ones and never into them."""

from streams.whatif.reading import Chosen
from streams.whatif.report import Costs, Report
from streams.whatif.run import NothingToReplay, replay_all

__all__ = ["Chosen", "Costs", "NothingToReplay", "Report", "replay_all"]
