"""What a record that the API holds in memory costs beside its key and value, by the API's own code."""

import tracemalloc

from schemas import PolicySkill, SlimSkill, compound_key
from streams.http.live import Held, Live
from streams.settings import Settings

USERS = 20_000
VALUE_BYTES = 1_000
OFFSET, AT_MS = 10**9, 1_700_000_000_000


def held_bytes() -> float:
    """Bytes of a record beside its key and value: objects, and a place in a dictionary."""
    live = Live(Settings())
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        told = 0
        for number in range(USERS):
            for base in (PolicySkill.TOPIC, SlimSkill.TOPIC):
                key, value = compound_key(f"user-{number:08}", "films"), bytes(VALUE_BYTES)
                told += len(key) + len(value)
                live.take(base, key, Held(value, number % 12, OFFSET + number, AT_MS + number))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before - told) / (2 * USERS)
