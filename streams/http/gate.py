"""Authentication and rate limits, for the API and for the server of metrics and health."""

from datetime import UTC, datetime

from streams.http import metrics
from streams.http.exceptions import RateLimited, TokensUnusable, Unauthorized
from streams.http.limits import Buckets, network_of
from streams.http.tokens import Scope, Token, TokensFile, find
from streams.settings import Settings

SECONDS_A_MINUTE = 60.0


class Gate:
    """Authenticates requests by their token and limits their rate. Thread-safe.

    Args:
        tokens: the tokens file.
        settings: the rate limits.
    """

    def __init__(self, tokens: TokensFile, settings: Settings) -> None:
        self._tokens = tokens
        self._requests = Buckets(settings.http_rate, settings.http_burst)
        self._failures = Buckets(settings.http_failures / SECONDS_A_MINUTE, max(1, int(settings.http_failures)))

    def enter(self, authorization: str | None, address: str) -> Token:
        """The token of a request.

        A valid token is never refused for the failures of others at the same address, such as behind a proxy: a token
        cannot be guessed, and failures are limited only for the work that they cause.

        Args:
            authorization: the header `Authorization`.
            address: the client's address.

        Raises:
            Unauthorized: it has no valid token.
            RateLimited: too many requests with this token, or too many failures from this address.
            TokensUnusable: the tokens file cannot be used.
        """
        known = self._tokens.all()
        reason, token = _whose(known, authorization)
        if token is None:
            metrics.AUTH_FAILURES.labels(reason).inc()
            self._or_too_often(self._failures, network_of(address), "address")
            raise Unauthorized(reason)
        self.count(token)
        return token

    def count(self, token: Token) -> None:
        """Counts a request of this token.

        Raises:
            RateLimited: there were too many.
        """
        self._or_too_often(self._requests, token.sha256, "token", token.rate)

    def knows(self, authorization: str | None, scopes: frozenset[Scope]) -> bool:
        """Whether a token is valid now and has one of these scopes, for somebody; nothing is counted."""
        try:
            token = _whose(self._tokens.all(), authorization)[1]
            return token is not None and bool(token.scopes & scopes)
        except TokensUnusable:
            return False

    def current(self, sha256: str) -> Token | None:
        """The token with this hash, as the file has it now; None if it is there no more, or has expired.

        Raises:
            TokensUnusable: the tokens file cannot be used.
        """
        now = datetime.now(UTC)
        for token in self._tokens.all():
            if token.sha256 == sha256:
                return None if token.expires is not None and token.expires <= now else token
        return None

    def _or_too_often(self, buckets: Buckets, key: str, by: str, rate: float | None = None) -> None:
        wait = buckets.take(key, rate)
        if wait:
            metrics.RATE_LIMITED.labels(by).inc()
            raise RateLimited(wait)


def _whose(known: tuple[Token, ...], authorization: str | None) -> tuple[str, Token | None]:
    if not authorization:
        return "missing", None
    kind, _, presented = authorization.partition(" ")
    if kind.lower() != "bearer":
        return "not-bearer", None
    token = find(known, presented.strip())
    return "" if token else "unknown", token


def gate_of(settings: Settings) -> Gate | None:
    """The gate for these settings; None if they name no tokens file.

    Raises:
        TokensUnusable: the file is invalid.
    """
    if settings.http_tokens is None:
        return None
    tokens = TokensFile(settings.http_tokens)
    tokens.all()
    return Gate(tokens, settings)
