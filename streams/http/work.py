"""Blocking work in threads, and no more of it at once than there is room for."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from streams.http.problems import Problem

_Result = TypeVar("_Result")

BUSY_SECONDS = "1"


class Threads:
    """A few threads. What finds them all taken waits; what finds too many waiting is sent away.

    Args:
        name: of the threads.
        threads: how many work at once.
        waiting: how many more may wait.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._room = threads + waiting

    async def run(self, do: Callable[[], _Result]) -> _Result:
        """What `do` gives, once a thread has done it.

        Raises:
            Problem: too many wait already.
        """
        if not self._room:
            raise Problem(503, "too much is asked at once: try again", {"Retry-After": BUSY_SECONDS})
        self._room -= 1
        work = asyncio.wrap_future(self._pool.submit(do))
        # Not when we are done, who may be cancelled before the thread is.
        work.add_done_callback(self._is_done)
        return await asyncio.shield(work)

    def close(self) -> None:
        """Begin nothing more; what runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _is_done(self, _: object) -> None:
        self._room += 1
