"""Counts records and bytes on Kafka by topic."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from schemas import TOPICS
from streams.local import batches
from streams.local.broker import BrokerClient, Partition
from streams.settings import Settings

# An answer of the embedded broker holds what it finds in this time, of the first partitions first.
WAIT_MS = 20


@dataclass
class Counted:
    """Traffic by topic: records, plain bytes, and stored bytes."""

    records: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)

    def add(self, other: Self) -> None:
        """Count what another has counted, too."""
        self.records += other.records
        self.plain += other.plain
        self.stored += other.stored


class Traffic:
    """Reads all topics of a deployment on one broker without TLS, raw.

    `newest` has the bytes of each key's newest record by topic, which compaction leaves. No key was removed.
    """

    def __init__(self, settings: Settings) -> None:
        self.newest: dict[str, dict[bytes, int]] = {base: {} for base in TOPICS}
        self._wire = BrokerClient(settings.bootstrap)
        self._bases = {settings.topic(base): base for base in TOPICS}
        self._topics: list[dict[Partition, int]] = [
            {(settings.topic(base), partition): 0 for partition in range(topic.partitions(settings.partitions))}
            for base, topic in TOPICS.items()
        ]

    def read(self) -> Counted:
        """What has come since the last call."""
        found = Counted()
        for at in self._topics:
            behind = dict(at)
            while behind:
                for partition, (data, end) in self._wire.fetch(behind, WAIT_MS).items():
                    at[partition] = self._take(partition, at[partition], data, found)
                    behind[partition] = at[partition]
                    if at[partition] >= end:
                        del behind[partition]
        return found

    def _take(self, partition: Partition, at: int, data: bytes, found: Counted) -> int:
        """Count whole batches from an offset on; the offset behind the last."""
        base = self._bases[partition[0]]
        for batch in batches.split(data):
            first, end = batches.bounds(batch)
            if first < at:
                continue
            records = list(batches.records(batch))
            found.records[base] += len(records)
            sizes = [len(record.key or b"") + len(record.value or b"") for record in records]
            found.plain[base] += sum(sizes)
            self.newest[base].update({record.key or b"": size for record, size in zip(records, sizes, strict=True)})
            found.stored[base] += len(batch)
            at = end
        return at

    def close(self) -> None:
        """End the connection."""
        self._wire.close()
