"""The apps' catalogue: lists may name its items by their ids alone."""

import asyncio
import time
from collections import Counter
from typing import Any, NamedTuple

from confluent_kafka import Message

from schemas import BadRecord, Candidate, Fact, Item, Position, QuotedFacts, decode
from schemas.enriched import is_enriched, same_app_record
from streams.caching import LruCache, compressed, decompressed
from streams.kafka.follower import Follower
from streams.kafka.scanner import int_of
from streams.settings import Settings

# An app may send an item and a list with it at the same time, and the topics are read independently.
WAIT_SECONDS, POLL_SECONDS = 3.0, 0.05
CACHED_ITEMS = 20_000
# So many items must have a quoted fact: no choice can confirm rarer facts, and they lower Hit@1.
RECURRING = 3


class CatalogueEntry(NamedTuple):
    """A key's newest record, compressed; None after a tombstone.

    `partition` and `offset` are those of the last record read, even if it was late. `enriched` is the last record with
    quoted facts: an app that sends its item again does not send them.
    """

    partition: int
    offset: int
    value: bytes | None = None
    enriched: bytes | None = None

    @property
    def record(self) -> bytes | None:
        """The newest record."""
        return None if self.value is None else decompressed(self.value)

    def quotations(self, key: bytes) -> QuotedFacts | None:
        """Return the last facts that a model quoted, maybe from another text."""
        item = None if self.enriched is None else valid_item(key, decompressed(self.enriched))
        return None if item is None else item.quoted


class Catalogue(Follower):
    """The newest record of each item on the topic `items`, compressed; empty until `read_all`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, [Item.TOPIC], self._take)
        self._entries: dict[bytes, CatalogueEntry] = {}
        self._reached: dict[int, int] = {}
        # The number of items by the hash of a quoted fact. The facts themselves would take more memory than the items.
        self._having: Counter[int] = Counter()
        self._decoded: LruCache[bytes, tuple[bytes, Item | None]] = LruCache(CACHED_ITEMS)

    def _take(self, message: Message) -> None:
        self.apply(int_of(message.partition()), int_of(message.offset()), message.key() or b"", message.value())

    def apply(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; it is decoded on first use.

        A worker adds facts to the record that it has read. If an app has sent another record or a tombstone since, the
        worker's is late and does not count.
        """
        before = self._entries.get(key)
        is_enrichment = value is not None and is_enriched(value)
        if value is None:
            entry = CatalogueEntry(partition, offset)
        elif (
            is_enrichment
            and before is not None
            and (before.record is None or not same_app_record(before.record, value))
        ):
            entry = before._replace(partition=partition, offset=offset)
        else:
            packed, enriched = compressed(value), None if before is None else before.enriched
            entry = CatalogueEntry(partition, offset, packed, packed if is_enrichment else enriched)
        if before is None or before.value is not entry.value:
            self._having.subtract(_fact_hashes(key, before))
            self._having.update(_fact_hashes(key, entry))
        self._entries[key] = entry
        self._reached[partition] = offset

    def get(self, domain: str, item_id: str) -> Candidate | None:
        """Return an item of a domain; None without a valid newest record."""
        item = self._item(domain, item_id)
        return None if item is None else item.item

    def shared_quotations(self, domain: str, item_id: str) -> tuple[Fact, ...]:
        """Return the facts that a model quoted from the texts of this item and of enough others."""
        item = self._item(domain, item_id)
        facts = () if item is None or item.quoted is None else item.quoted.facts
        return tuple(fact for fact in facts if self._having[hash((domain, fact))] >= RECURRING)

    def _item(self, domain: str, item_id: str) -> Item | None:
        key = item_id.encode()
        entry = self._entries.get(key)
        if entry is None or entry.value is None:
            return None
        known = self._decoded.get(key)
        if known is None or known[0] is not entry.value:
            known = entry.value, valid_item(key, decompressed(entry.value))
            self._decoded.put(key, known)
        item = known[1]
        return item if item is not None and item.domain == domain else None

    def entry(self, partition: int, offset: int, key: bytes) -> CatalogueEntry | None:
        """Return a key's entry; None until a record of the topic has been read."""
        return self._entries[key] if self._reached.get(partition, -1) >= offset else None

    async def unknown_item(self, record: Any, position: Position) -> str | None:
        """Return the first id alone in a list that is still unknown after a wait; None if all are known."""
        # From the record's time, not from now: otherwise a flood of unknown ids would add up its waits.
        until = time.monotonic() + WAIT_SECONDS - max(0.0, time.time() - position.timestamp_ms / 1_000)
        for each in getattr(record, "candidates", ()):
            while each.is_id_alone and self.get(record.domain, each.item_id) is None:
                if time.monotonic() >= until:
                    return str(each.item_id)
                await asyncio.sleep(POLL_SECONDS)
        return None


def _fact_hashes(key: bytes, entry: CatalogueEntry | None) -> list[int]:
    if entry is None or entry.value is None or entry.value is not entry.enriched:
        return []
    item = valid_item(key, decompressed(entry.value))
    return [hash((item.domain, fact)) for fact in item.quoted.facts] if item and item.quoted else []


def valid_item(key: bytes, record: bytes) -> Item | None:
    """Return the item of a record; None if it is not valid."""
    try:
        item = decode(Item, record)
    except BadRecord:  # the materializer reports it
        return None
    return item if item.item.item_id.encode() == key else None
