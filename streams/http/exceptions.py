"""What keeps a request out, and what keeps the API from starting."""

from streams.exceptions import StreamsError


class TokensUnusable(StreamsError, ValueError):
    """The file of tokens is missing, open to others, or not what it has to be. Nobody is let in then."""


class CannotServe(StreamsError, OSError):
    """The API cannot be served as configured."""


class NotLetIn(StreamsError):
    """A request without a token that is good, or with too many before it.

    Args:
        reason: why, in a word, for the metrics.
        retry_seconds: when to try again; 0 if that would not help.
    """

    def __init__(self, reason: str, retry_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_seconds = retry_seconds
