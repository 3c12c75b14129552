"""Finds keys of a table by owner or by content, with a scan: tables have neither order nor index."""

import asyncio
from collections.abc import Callable

from schemas import key_start
from streams.kafka.packed import unpack
from streams.worker.runtime.repairs import DeliveredTable

LOOK = 20_000
"""Keys that are looked at before others have their turn."""
LOOK_INTO = 500
"""Values, some kilobytes each, likewise."""


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


async def keys_that_hold(table: DeliveredTable, text: bytes) -> list[bytes]:
    """The keys whose value holds these bytes, as its JSON has them."""
    return await keys_whose(table, lambda value: text in value)


async def keys_whose(table: DeliveredTable, is_meant: Callable[[bytes], bool]) -> list[bytes]:
    """The keys whose value, as JSON, is meant; a packed one is unpacked for it."""
    found = []
    for number, key in enumerate(tuple(table.data), 1):
        if is_meant(unpack(table.data.get(key) or b"")):
            found.append(key)
        if number % LOOK_INTO == 0:
            await asyncio.sleep(0)
    return found
