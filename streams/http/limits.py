"""Authentication and limits of the HTTP API: sizes, rates and concurrency."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final

from streams.caching import LruCache
from streams.http import metrics
from streams.http.problems import Problem
from streams.http.tokens import Scope, Token, TokensFile, find_token
from streams.settings import Settings

KIB, MIB = 1024, 1024 * 1024
HEAD_BYTES: Final = 16 * KIB  # a request's first line and headers
BODY_BYTES: Final = 16 * KIB  # a request's body: a command takes a few hundred bytes
# Paths with larger bodies: their limit, and the scope it requires, so that strangers cannot fill the memory.
LARGER_BODIES: Final = (
    (re.compile(r"/v1/events(?:/lint)?|/v1/rank"), MIB, Scope.PRODUCE),
    (re.compile(r"/v1/users/[^/]+/domains/[^/]+/corrections"), MIB, Scope.CHANGE_USER),
)
BATCH_EVENTS = 500  # events in a batch
WAITING_CALLS = 512  # calls at once that wait for a worker's answer
READ_THREADS, QUEUED_READS = 4, 64  # threads that read the snapshot, and reads that wait for one
SEARCH_THREADS, QUEUED_SEARCHES = 4, 8  # threads that export or preview, which takes seconds or minutes each
BUCKETS = 10_000  # one or two megabytes; beyond that the least recently used bucket is dropped


class RateLimited(Problem):
    """The client exceeds its rate or its share of slots."""

    def __init__(self, detail: str, retry_seconds: float = 0.0) -> None:
        self.retry_after = str(int(retry_seconds) + 1)
        super().__init__(429, f"{detail}: try again in {self.retry_after} s", {"Retry-After": self.retry_after})


class Unauthorized(Problem):
    """The request has no valid token."""

    def __init__(self, reason: str) -> None:
        detail = "send a valid token: `Authorization: Bearer sager_...`; `sager token new` makes one"
        challenge = "Bearer" if reason == "missing" else 'Bearer error="invalid_token"'
        super().__init__(401, detail, {"WWW-Authenticate": challenge})


class Buckets:
    """A token bucket per key. Thread-safe."""

    def __init__(
        self, rate: float, burst: int, most: int = BUCKETS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._used = LruCache[str, tuple[float, float]](most)

    def take(self, key: str, rate: float | None = None) -> float:
        """Take a token; return the seconds to wait for one, or 0.

        `rate` replaces the common rate for this key, and raises its burst to at least that many.
        """
        with self._lock:
            now = self._clock()
            burst, rate = (float(self._burst), self._rate) if rate is None else (max(self._burst, rate), rate)
            left, at = self._used.get(key) or (burst, now)
            left = min(burst, left + max(0.0, now - at) * rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / rate
            self._used.put(key, (left if wait else left - 1.0, now))
            return wait


class Limiter:
    """Limits concurrent connections, streams or calls, fairly by client."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._used = Counter[str]()

    @contextmanager
    def hold(self, client: str) -> Iterator[None]:
        """Hold a client's slot; raise a 503 problem or `RateLimited`."""
        if not self._free:
            raise Problem(503, "the server is busy: try again", {"Retry-After": "1"})
        # At most as many slots as are free: a client that takes all it can still leaves half to others.
        if self._used[client] >= self._free:
            metrics.RATE_LIMITED.labels("share").inc()
            raise RateLimited("too many requests at once")
        self._free -= 1
        self._used[client] += 1
        try:
            yield
        finally:
            self._free += 1
            self._used -= Counter([client])  # drops a client that holds none any more


class Gate:
    """Authenticates requests by their token and limits their rate. Thread-safe."""

    def __init__(self, tokens: TokensFile, settings: Settings) -> None:
        self._tokens = tokens
        self._requests = Buckets(settings.http_rate, settings.http_burst)
        self._failures = Buckets(settings.http_failures / 60, max(1, int(settings.http_failures)))

    def authenticate(self, authorization: str | None, client: tuple[str, int] | None) -> Token:
        """Return the token of a request; raise `Unauthorized` or `RateLimited`."""
        kind, _, presented = (authorization or "").partition(" ")
        token = find_token(self._tokens.all(), presented.strip()) if kind.lower() == "bearer" else None
        if token is None:
            reason = "missing" if not authorization else "unknown" if kind.lower() == "bearer" else "not-bearer"
            metrics.AUTH_FAILURES.labels(reason).inc()
            # Failures of an address never block its valid tokens: clients behind one proxy share the address.
            self._limit(self._failures, network_of(client[0] if client else "?"), "address")
            raise Unauthorized(reason)
        self.count_request(token)
        return token

    def count_request(self, token: Token) -> None:
        """Count a request against the token's rate."""
        self._limit(self._requests, token.sha256, "token", token.rate)

    def token_by_hash(self, sha256: str) -> Token | None:
        """Return the valid token with this hash, if any."""
        found = next((token for token in self._tokens.all() if token.sha256 == sha256), None)
        return None if found is None or found.is_expired() else found

    def _limit(self, buckets: Buckets, key: str, by: str, rate: float | None = None) -> None:
        if wait := buckets.take(key, rate):
            metrics.RATE_LIMITED.labels(by).inc()
            raise RateLimited("too many requests", wait)


def is_loopback(host: str) -> bool:
    """Return True if a host name or address is the loopback."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def network_of(address: str) -> str:
    """Return a client's IPv4 address or IPv6 /64 network."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
    return str(found)
