"""Writes versions of skills and cards: the table first, then the log, each version once.

1. The value is written to its table, with its newest diff in it. From here on the event has happened.
2. The diff is sent to the log, and with it what apps read of the version.
3. A worker that dies in between leaves the diff in the value. Its successor sends it, unless the log has it.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from operators.chain import seal_all
from schemas import TOPICS, Card, PolicySkill, SlimSkill, encode
from streams.settings import Settings
from streams.worker.output_tail import DiffT, Newest, OutputTail, read_versions
from streams.worker.runtime.dispatch import Reader
from streams.worker.runtime.producer import Producer
from streams.worker.tables import StateTable

AT_ONCE = 200
"""Records of one user that are sent at once."""

ValueT = TypeVar("ValueT", PolicySkill, Card)


class LogIncomplete(Exception):
    """The log of a skill or of a card has gaps, so it cannot be rewritten."""


class VersionedWriter(ABC, Generic[ValueT, DiffT]):
    """Writes versions of one kind of value. For callers that hold the user's lock."""

    def __init__(
        self, reader: Reader, table: StateTable[ValueT], producer: Producer, settings: Settings, diff: type[DiffT]
    ) -> None:
        self._reader, self._producer, self._settings = reader, producer, settings
        self._table: StateTable[ValueT] = table
        self._diff: type[DiffT] = diff
        self._tail = OutputTail(settings, producer.generation)

    @abstractmethod
    def _key(self, value: ValueT) -> bytes:
        """Return the value's key in its table."""

    @abstractmethod
    def _name(self, value: ValueT) -> bytes:
        """Return the key by which `OutputTail` finds the value's newest version."""

    @abstractmethod
    def _fold(self, log: Sequence[DiffT]) -> ValueT | None:
        """Return the value that a log leads to. Raises LogIncomplete if it has gaps."""

    async def write(self, event: Any, value: ValueT, records: Sequence[DiffT | SlimSkill]) -> None:
        """Write a version, then send its records."""
        await self._table.write(event, self._key(value), value)
        await self.send(event, value, records)

    async def send(self, event: Any, value: ValueT, records: Sequence[DiffT | SlimSkill]) -> None:
        """Send the records of a version that is in its table."""
        await asyncio.gather(*(self._send(event, record, self._name(value)) for record in records))
        self._tail.mark_sent(self._name(value), value.version)

    async def _send(self, event: Any, record: DiffT | SlimSkill, name: bytes) -> None:
        topic, partition = TOPICS[record.TOPIC], event.partition
        # A slim skill may be on its compacted topic twice: the newer one replaces the older.
        is_logged = None if isinstance(record, SlimSkill) else partial(self._is_logged, partition, record, name)
        await self._producer.send(event, topic.base, topic.key_of(record), encode(record), partition, is_logged)

    async def _is_logged(self, partition: int, diff: DiffT, name: bytes) -> bool:
        """Return true if only the acknowledgement of an earlier attempt was lost."""
        found = await self._tail.newest(diff.TOPIC, partition, name, _answered_ms(diff), time.monotonic())
        return found is not None and found.version >= diff.version

    async def _unsent(self, event: Any, value: ValueT, pending: Collection[str], *topics: str) -> list[Newest | None]:
        """Return the newest version on each of these topics; nothing if all records of `value` were sent.

        `pending` are ids of events that are acknowledged and unfinished.
        """
        last = value.last_diff
        if last is None or self._tail.is_marked(self._name(value), value.version):
            return []
        if last.event_id not in pending and (last.source is None or self._reader.is_acknowledged(last.source)):
            return []
        # All ends at once: after a takeover, a partition's first choice waits for them.
        where = event.partition, self._name(value), _answered_ms(last)
        asks = [(f"reading the end of {topic}", partial(self._tail.newest, topic, *where)) for topic in topics]
        return await asyncio.gather(*(self._producer.retry(event, *ask) for ask in asks))

    async def _erase(self, event: Any, value: ValueT, diffs: Sequence[bytes], *others: tuple[str, bytes]) -> None:
        """Remove a value, its log and its other records."""
        await self._send_all(event, [(self._diff.TOPIC, key, None) for key in diffs])
        await self._send_all(event, [(topic, key, None) for topic, key in others])
        # Last: while it is there, a repeated request knows which versions to remove.
        await self._table.delete(event, self._key(value))
        self._tail.forget(self._name(value))

    async def _log(self, event: Any, start: bytes, version: int) -> list[DiffT]:
        """Return the versions under keys with this start, up to the newest version."""
        ask = partial(asyncio.to_thread, read_versions, self._settings, self._diff, event.partition, start)
        log: list[DiffT] = await self._producer.retry(event, f"reading {self._diff.TOPIC}", ask)
        return [each for each in log if each.version <= version]

    async def _rewrite(
        self, event: Any, log: Sequence[DiffT], changed: Sequence[DiffT], version: int
    ) -> tuple[ValueT, DiffT]:
        """Replace a log by one with changed versions; return the value that it leads to, and its last version.

        `changed` may go one version beyond the log: that one is not sent. Raises LogIncomplete if the result is not at
        this version; nothing was sent then.
        """
        sealed = seal_all(changed, self._settings.chain_key_bytes)
        value = self._fold(sealed)
        if value is None or value.version != version:
            raise LogIncomplete(f"the log is at version {value.version if value else 0}, not at {version}")
        key_of = TOPICS[self._diff.TOPIC].key_of
        differ = [new for old, new in zip(log, sealed, strict=False) if new != old]
        await self._send_all(event, [(self._diff.TOPIC, key_of(each), encode(each)) for each in differ])
        return value, sealed[-1]

    async def _send_all(self, event: Any, records: Sequence[tuple[str, bytes, bytes | None]]) -> None:
        send, partition = self._producer.send, event.partition
        for start in range(0, len(records), AT_ONCE):
            await asyncio.gather(*(send(event, *each, partition) for each in records[start : start + AT_ONCE]))


def _answered_ms(diff: DiffT) -> int:
    """Return when Kafka logged the event that a version answers; the version was not sent before."""
    return 0 if diff.source is None else diff.source.timestamp_ms
