"""Authentication and rate limits, for the API and for the server of metrics and health."""

from ipaddress import ip_address

from streams.exceptions import StreamsError
from streams.http import metrics
from streams.http.limits import Buckets, RateLimited, network_of
from streams.http.tokens import Token, TokensFile, find
from streams.settings import Settings


class Unauthorized(StreamsError):
    """A request without a valid token; `reason` is a metric label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Gate:
    """Authenticates requests by their token and limits their rate. Thread-safe."""

    def __init__(self, tokens: TokensFile, settings: Settings) -> None:
        self._tokens = tokens
        self._requests = Buckets(settings.http_rate, settings.http_burst)
        self._failures = Buckets(settings.http_failures / 60, max(1, int(settings.http_failures)))

    def enter(self, authorization: str | None, address: str) -> Token:
        """Return the token of a request.

        Other clients' failures at the same address, such as behind a proxy, never refuse a valid token: a token cannot
        be guessed, and the limit on failures only bounds the work that they cause.

        Raises:
            Unauthorized: it has no valid token.
            RateLimited: too many requests with this token, or too many failures from this address.
        """
        kind, _, presented = (authorization or "").partition(" ")
        token = find(self._tokens.all(), presented.strip()) if kind.lower() == "bearer" else None
        if token is None:
            reason = "missing" if not authorization else "unknown" if kind.lower() == "bearer" else "not-bearer"
            metrics.AUTH_FAILURES.labels(reason).inc()
            self._limit(self._failures, network_of(address), "address")
            raise Unauthorized(reason)
        self.count(token)
        return token

    def count(self, token: Token) -> None:
        """Count a request of this token."""
        self._limit(self._requests, token.sha256, "token", token.rate)

    def current(self, sha256: str) -> Token | None:
        """Return the token with this hash as the file has it now, unless it has expired."""
        found = next((token for token in self._tokens.all() if token.sha256 == sha256), None)
        return None if found is None or found.is_expired() else found

    def _limit(self, buckets: Buckets, key: str, by: str, rate: float | None = None) -> None:
        if wait := buckets.take(key, rate):
            metrics.RATE_LIMITED.labels(by).inc()
            raise RateLimited("too many requests", wait)


def gate_of(settings: Settings) -> Gate | None:
    """Return the gate for these settings; None if they name no tokens file."""
    if settings.http_tokens is None:
        return None
    tokens = TokensFile(settings.http_tokens)
    tokens.all()
    return Gate(tokens, settings)


def is_loopback(host: str) -> bool:
    """Return True if a name or an address is this machine's own, with no network between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
