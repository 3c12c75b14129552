"""Bounds what goes on at once: places for what waits, threads for what blocks, and of both nobody more than a share."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from streams.http import metrics
from streams.http.problems import Problem

_Result = TypeVar("_Result")

BUSY_SECONDS = "1"


@dataclass(frozen=True)
class Share:
    """What work is counted under, and how much of what is free that may take.

    Attributes:
        by: what it is a share of, as a metric label.
        key: the token, the person or the address.
        part: it may hold at most one `part`th of the places that are free, but always one.
        most: it may hold at most so many, however many are free; None for no such bound.
    """

    by: str
    key: str
    part: int = 1
    most: int | None = None


class Places:
    """A number of places for work that is going on, of which nobody gets more than a share.

    A share shrinks as places run out: whoever takes all they can leaves as many places free as they hold, and the next
    one finds room. A share that is used up answers 429, no place at all 503.

    Args:
        room: how many there are.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._held = Counter[Share]()

    def take(self, *shares: Share) -> Callable[[], None]:
        """Takes a place, and returns what gives it back.

        Args:
            shares: all of them must have room.

        Raises:
            Problem: a share is used up, or there is no place.
        """
        if not self._room:
            raise Problem(503, "the server is busy: try again", {"Retry-After": BUSY_SECONDS})
        for share in shares:
            most = self._room // share.part if share.most is None else min(share.most, self._room // share.part)
            if self._held[share] >= max(1, most):
                metrics.RATE_LIMITED.labels(share.by).inc()
                raise Problem(
                    429,
                    "too many requests or streams at once: wait for the earlier answers, or end a stream",
                    {"Retry-After": BUSY_SECONDS},
                )
        self._room -= 1
        self._held.update(shares)

        def give_back() -> None:
            self._room += 1
            self._held.subtract(shares)
            for share in shares:
                if not self._held[share]:
                    del self._held[share]

        return give_back

    @contextmanager
    def taken(self, *shares: Share) -> Iterator[None]:
        """Holds a place, as a context manager.

        Raises:
            Problem: see `take`.
        """
        give_back = self.take(*shares)
        try:
            yield
        finally:
            give_back()


class Threads:
    """A thread pool with a bounded queue; its places are those of the threads and of the queue.

    Args:
        name: prefix of the threads' names.
        threads: number of threads.
        waiting: size of the queue.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._places = Places(threads + waiting)

    async def run(self, do: Callable[[], _Result], *shares: Share) -> _Result:
        """The result of `do`, run in a thread.

        Args:
            do: blocks.
            shares: all of them must have room.

        Raises:
            Problem: a share is used up, or the queue is full.
        """
        give_back = self._places.take(*shares)
        work = asyncio.wrap_future(self._pool.submit(do))
        # The thread gives its place back, not the caller, who may be cancelled earlier.
        work.add_done_callback(lambda _: give_back())
        return await asyncio.shield(work)

    def close(self) -> None:
        """Cancels what is queued, without waiting for what runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)
