"""What goes wrong in an evaluation, in words that say what to do next."""

from streams.exceptions import StreamsError


class QualityError(StreamsError):
    """Base of what an evaluation raises on purpose."""


class BadCandidates(QualityError, ValueError):
    """A file of candidates does not fit its data set; the message names the user."""


class UnknownArm(QualityError, LookupError):
    """No arm has this name."""


class ArmFailed(QualityError, RuntimeError):
    """An arm raised, or did not answer with each candidate exactly once; the message names the arm and the user."""


class BadResults(QualityError, ValueError):
    """A file of results cannot be used."""


class BudgetSpent(QualityError, RuntimeError):
    """The next call to a model would be one too many; the message tells how to go on."""


class NoReply(QualityError, RuntimeError):
    """A model's endpoint does not answer; the message tells why and how to go on."""
