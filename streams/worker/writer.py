"""Writes the log of skills and of cards, each version once, and rewrites it where words are erased.

A version is written to its table first and sent to the log then. A successor of a worker that died in between finds
the diff in the table.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Generic

from schemas import TOPICS, encode
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.sent import DiffT, Newest, Sent, read_versions

AT_ONCE = 200
"""Records of one user that are sent at once."""


class LogIncomplete(Exception):
    """The log of a skill or of a card has gaps, so it cannot be rewritten."""


class LogWriter(Generic[DiffT]):
    """Writes versions of one kind, `diff`. For callers that hold the user's lock."""

    def __init__(self, pipeline: Pipeline, diff: type[DiffT]) -> None:
        self._pipeline = pipeline
        self._diff: type[DiffT] = diff
        self._sent = Sent(pipeline.settings, pipeline.generation)

    def user_lock(self, user_id: str) -> asyncio.Lock:
        """Return the lock under which a user's skills and card are written and erased. Its holders ask no model."""
        return self._pipeline.lock("skills", user_id.encode())

    async def _newest(self, event: Any, topic: str, name: bytes, last: DiffT) -> Newest | None:
        ask = partial(self._sent.newest, topic, event.message.partition, name, _answered_ms(last))
        return await self._pipeline.retry(event, f"reading the end of {topic}", ask)

    async def _send_diff(self, event: Any, diff: DiffT, name: bytes) -> None:
        """Send a diff; `name` is the key by which `Sent` knows its skill or card."""
        topic, partition = TOPICS[diff.TOPIC], event.message.partition

        async def is_logged() -> bool:
            """Return true if only the acknowledgement of an earlier attempt was lost."""
            found = await self._sent.newest(topic.base, partition, name, _answered_ms(diff), time.monotonic())
            return found is not None and found.version >= diff.version

        await self._pipeline.send(event, topic.base, topic.key_of(diff), encode(diff), partition, is_logged)

    async def _log(self, event: Any, start: bytes, version: int) -> list[DiffT]:
        """Return the versions under keys with this start, up to the newest version."""
        settings, partition = self._pipeline.settings, event.message.partition
        ask = partial(asyncio.to_thread, read_versions, settings, self._diff, partition, start)
        log: list[DiffT] = await self._pipeline.retry(event, f"reading {self._diff.TOPIC}", ask)
        return [each for each in log if each.version <= version]

    async def _replace(self, event: Any, log: Sequence[DiffT], rewritten: Sequence[DiffT]) -> None:
        topic, partition = TOPICS[self._diff.TOPIC], event.message.partition
        changed = [new for old, new in zip(log, rewritten, strict=False) if new != old]
        send = self._pipeline.send
        await in_parts([partial(send, event, topic.base, topic.key_of(d), encode(d), partition) for d in changed])

    async def _remove(self, event: Any, keys: Sequence[bytes]) -> None:
        send, partition = self._pipeline.send, event.message.partition
        await in_parts([partial(send, event, self._diff.TOPIC, key, None, partition) for key in keys])


async def in_parts(sends: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Await all of these, a bounded number at once."""
    for start in range(0, len(sends), AT_ONCE):
        await asyncio.gather(*(send() for send in sends[start : start + AT_ONCE]))


def _answered_ms(diff: DiffT) -> int:
    """Return when Kafka logged the event that a version answers; the version was not sent before."""
    return 0 if diff.source is None else diff.source.timestamp_ms
