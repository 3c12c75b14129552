"""Finds keys of a table by their owner, with a scan: tables have neither order nor index."""

import asyncio

from schemas import key_start
from streams.worker.runtime.repairs import DeliveredTable

LOOK = 20_000
"""Keys that are looked at before others have their turn."""


async def keys_that_begin(table: DeliveredTable, owner: str) -> list[bytes]:
    """The keys `[owner, ...]` of a table."""
    start = key_start(owner)
    found = []
    for number, key in enumerate(tuple(table.data), 1):
        if key.startswith(start):
            found.append(key)
        if number % LOOK == 0:
            await asyncio.sleep(0)
    return found
