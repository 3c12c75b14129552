"""Errors of an evaluation; their messages say what to do next."""

from streams.exceptions import StreamsError


class QualityError(StreamsError):
    """Base of all errors of an evaluation: bad data, bad results, an option that does not fit."""


class ArmFailed(QualityError, RuntimeError):
    """An arm raised, or did not return each candidate exactly once; the message names the arm and the user."""


class BudgetSpent(QualityError, RuntimeError):
    """The budget of model calls is spent; the message says how to continue."""


class NoReply(QualityError, RuntimeError):
    """A model's endpoint does not answer; the message says why and how to continue."""
