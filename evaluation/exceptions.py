"""Errors of an evaluation; their messages say what to do next."""

from streams.exceptions import StreamsError


class QualityError(StreamsError):
    """Base of all errors of an evaluation."""


class ArmFailed(QualityError, RuntimeError):
    """An arm raised, or did not return each candidate once."""


class BudgetSpent(QualityError, RuntimeError):
    """The budget of model calls is spent."""


class NoReply(QualityError, RuntimeError):
    """A model's endpoint does not answer."""
