"""Per-client rate limit: bounded token buckets."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

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
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Takes a token from the key's bucket.

        Returns:
            0 if there was one; otherwise the seconds until there is.
        """
        with self._lock:
            now = self._clock()
            left, at = self._held.pop(key, (float(self._burst), now))
            left = min(float(self._burst), left + max(0.0, now - at) * self._rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / self._rate
            self._held[key] = (left if wait else left - 1.0, now)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
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
