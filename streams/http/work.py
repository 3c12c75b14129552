"""Runs blocking work in a bounded thread pool."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from streams.http.problems import Problem

_Result = TypeVar("_Result")

BUSY_SECONDS = "1"


class Threads:
    """A thread pool with a bounded queue: callers wait when all threads are busy; a full queue answers 503.

    Args:
        name: prefix of the threads' names.
        threads: number of threads.
        waiting: size of the queue.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._room = threads + waiting

    async def run(self, do: Callable[[], _Result]) -> _Result:
        """The result of `do`, run in a thread.

        Raises:
            Problem: the queue is full.
        """
        if not self._room:
            raise Problem(503, "the server is busy: try again", {"Retry-After": BUSY_SECONDS})
        self._room -= 1
        work = asyncio.wrap_future(self._pool.submit(do))
        # The thread gives its place back, not the caller, who may be cancelled earlier.
        work.add_done_callback(self._is_done)
        return await asyncio.shield(work)

    def close(self) -> None:
        """Cancels what is queued, without waiting for what runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _is_done(self, _: object) -> None:
        self._room += 1
