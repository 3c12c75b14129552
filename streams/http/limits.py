"""Authentication and limits of the HTTP API: sizes, rates by token and address, places for work in progress."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final

from streams.exceptions import StreamsError
from streams.http import metrics
from streams.http.tokens import Scope, Token, TokensFile, find_token
from streams.memory import LruCache
from streams.settings import Settings

KIB, MIB = 1024, 1024 * 1024
HEAD_BYTES: Final = 16 * KIB  # a request's first line and headers
BODY_BYTES: Final = 16 * KIB  # a request's body: a command takes a few hundred bytes
LARGER_BODIES: Final = (
    (re.compile(r"/v1/events(?:/lint)?|/v1/rank"), MIB, Scope.PRODUCE),
    (re.compile(r"/v1/users/[^/]+/domains/[^/]+/corrections"), MIB, Scope.CHANGE_USER),
    (re.compile(r"/v1/users/[^/]+/import"), 16 * MIB, Scope.CHANGE_USER),
)
"""Paths that take larger bodies, their size and the scope that the token needs, so that strangers fill no memory."""
BATCH_EVENTS = 500  # events in a batch
LINT_CHARS = 10_000  # the text of a batch that the linter reads: a second's work at worst
WAITING_CALLS = 512  # calls at once that wait for a worker's answer
READ_THREADS, QUEUED_READS = 4, 64  # threads that read the snapshot, and reads that wait for one
SEARCH_THREADS, QUEUED_SEARCHES = 4, 8  # threads that export, preview or import, which takes seconds or minutes each
BUCKETS = 10_000  # one or two megabytes; beyond that the least recently used bucket is dropped


class RateLimited(StreamsError):
    """A client is over its rate or its share."""

    def __init__(self, detail: str, retry_seconds: float = 0.0) -> None:
        self.retry_after = str(int(retry_seconds) + 1)
        super().__init__(f"{detail}: try again in {self.retry_after} s")


class Unauthorized(StreamsError):
    """A request without a valid token; its text is a metric label."""


class Busy(StreamsError):
    """All places are taken."""


class Buckets:
    """A token bucket per key: bursts of `burst` requests, `rate` requests a second on average. Thread-safe."""

    def __init__(
        self, rate: float, burst: int, most: int = BUCKETS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._held = LruCache[str, tuple[float, float]](most)

    def take(self, key: str, rate: float | None = None) -> float:
        """Take a token and return 0, or the seconds until there is one; `rate`: the key's own, and its least burst."""
        with self._lock:
            now = self._clock()
            burst, rate = (float(self._burst), self._rate) if rate is None else (max(self._burst, rate), rate)
            left, at = self._held.get(key) or (burst, now)
            left = min(burst, left + max(0.0, now - at) * rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / rate
            self._held.put(key, (left if wait else left - 1.0, now))
            return wait


class Limiter:
    """Places for connections, streams, threads or waiting calls, for one event loop.

    A client holds at most as many places as are free: one that takes all it can leaves as many for others.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._held = Counter[str]()

    @contextmanager
    def hold(self, client: str) -> Iterator[None]:
        """Hold a place for a token or an address; raise `Busy`, or `RateLimited` if the client holds its share."""
        if not self._free:
            raise Busy("the server is busy: try again")
        if self._held[client] >= self._free:
            metrics.RATE_LIMITED.labels("share").inc()
            raise RateLimited("too many requests at once")
        self._free -= 1
        self._held[client] += 1
        try:
            yield
        finally:
            self._free += 1
            self._held -= Counter([client])  # drops a client that holds none any more


class Gate:
    """Authenticates requests by their token and limits their rate. Thread-safe."""

    def __init__(self, tokens: TokensFile, settings: Settings) -> None:
        self._tokens = tokens
        self._requests = Buckets(settings.http_rate, settings.http_burst)
        self._failures = Buckets(settings.http_failures / 60, max(1, int(settings.http_failures)))

    def authenticate(self, authorization: str | None, address: str) -> Token:
        """Return the token of a request; raise `Unauthorized` or `RateLimited`.

        Other clients' failures at the same address, such as behind a proxy, never refuse a valid token: a token cannot
        be guessed, and the limit on failures only bounds the work that they cause.
        """
        kind, _, presented = (authorization or "").partition(" ")
        token = find_token(self._tokens.all(), presented.strip()) if kind.lower() == "bearer" else None
        if token is None:
            reason = "missing" if not authorization else "unknown" if kind.lower() == "bearer" else "not-bearer"
            metrics.AUTH_FAILURES.labels(reason).inc()
            self._limit(self._failures, network_of(address), "address")
            raise Unauthorized(reason)
        self.count_request(token)
        return token

    def count_request(self, token: Token) -> None:
        """Count a request of this token."""
        self._limit(self._requests, token.sha256, "token", token.rate)

    def token_by_hash(self, sha256: str) -> Token | None:
        """Return the token with this hash as the file has it now, unless it has expired."""
        found = next((token for token in self._tokens.all() if token.sha256 == sha256), None)
        return None if found is None or found.is_expired() else found

    def _limit(self, buckets: Buckets, key: str, by: str, rate: float | None = None) -> None:
        if wait := buckets.take(key, rate):
            metrics.RATE_LIMITED.labels(by).inc()
            raise RateLimited("too many requests", wait)


def is_loopback(host: str) -> bool:
    """Return True if a name or an address is this machine's own, with no network between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def network_of(address: str) -> str:
    """Return the network that a client is limited by: its IPv4 address, or the first 64 bits of an IPv6 one."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
    return str(found)
