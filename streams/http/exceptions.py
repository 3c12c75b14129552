"""Errors that refuse a request or prevent the API from starting."""

from streams.exceptions import StreamsError


class TokensUnusable(StreamsError, ValueError):
    """The tokens file is missing, accessible to others or invalid. No request is accepted then."""


class CannotServe(StreamsError, OSError):
    """The API cannot be served as configured."""


class Unauthorized(StreamsError):
    """A request without a valid token.

    Args:
        reason: why, as a metric label.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RateLimited(StreamsError):
    """A request over the rate limit.

    Args:
        retry_seconds: when to try again.
    """

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(f"too many requests: try again in {retry_seconds:.1f} s")
        self.retry_seconds = retry_seconds

    @property
    def retry_after(self) -> str:
        """The header `Retry-After`: whole seconds, rounded up."""
        return str(int(self.retry_seconds) + 1)
