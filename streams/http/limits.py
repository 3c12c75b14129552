"""Per-client rate limit: bounded token buckets."""

import threading
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from streams.lru import LruCache

MOST = 10_000
"""Maximum number of buckets, one or two megabytes; beyond it the least recently used one is dropped."""


class Buckets:
    """A token bucket per key: bursts of `burst` requests, `rate` requests per second on average. Thread-safe.

    Args:
        rate: requests per second.
        burst: requests at once after a pause.
        most: maximum number of keys.
        clock: a monotonic clock, in seconds.
    """

    def __init__(self, rate: float, burst: int, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._held = LruCache[str, tuple[float, float]](most)

    def take(self, key: str, rate: float | None = None) -> float:
        """Takes a token from the key's bucket.

        Args:
            key: whose bucket.
            rate: this key's own, in requests per second, which is also its burst where that is more.

        Returns:
            0 if there was one; otherwise the seconds until there is.
        """
        with self._lock:
            now = self._clock()
            burst, rate = (float(self._burst), self._rate) if rate is None else (max(self._burst, rate), rate)
            left, at = self._held.get(key) or (burst, now)
            left = min(burst, left + max(0.0, now - at) * rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / rate
            self._held.put(key, (left if wait else left - 1.0, now))
            return wait

    def __len__(self) -> int:
        return len(self._held)


def network_of(address: str) -> str:
    """The network that a client is limited by: an IPv4 address, or the first 64 bits of an IPv6 address.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3:4:5:6"), network_of("?")
    ('192.0.2.7', '2001:db8:1:2::', '?')
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
    return str(found)
