"""Runs work on many cases with bounded concurrency."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


async def each(things: Iterable[_T], work: Callable[[_T], Awaitable[None]], concurrency: int) -> None:
    """Runs the work for each thing, started in their order.

    The first error stops all of it and is raised unchanged.
    """

    async def take(waiting: Iterator[_T]) -> None:
        for thing in waiting:
            await work(thing)

    shared = iter(things)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(take(shared))
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        raise first from first.__cause__
