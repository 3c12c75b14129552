"""The writer of `benchmarks.analytics`: it goes on like `sager materialize`, without Kafka, at a given rate."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from benchmarks.analytics_fill import RECORDS_PER_CHOICE, ROWS_PER_CHOICE, choices
from operators.forget import with_scope
from schemas import ForgetRequest, Forgotten, Receipt, encode, subject_of, topic_of
from streams.materializer.batch import Batch
from streams.materializer.records import Record
from streams.materializer.rows import read
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Progress, Store
from streams.settings import Settings


@dataclass
class Written:
    """What the writer did: its seconds in each transaction and stop, when each transaction ended, and all rows."""

    batch: list[float] = field(default_factory=list)
    stop: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    rows: int = 0
    publications: int = 0
    seconds: float = 0.0

    @property
    def longest_gap(self) -> float:
        """The longest time in which no row was committed."""
        return max((later - earlier for earlier, later in zip(self.ended, self.ended[1:], strict=False)), default=0.0)

    def as_json(self) -> dict[str, Any]:
        """Everything but the single times."""
        kept = {name: value for name, value in asdict(self).items() if not isinstance(value, list)}
        times = {
            name: {"p50": round(at(values, 0.5), 3), "max": round(max(values, default=0.0), 3)}
            for name, values in (("transaction_seconds", self.batch), ("stop_seconds", self.stop))
        }
        rate = round(self.rows / self.seconds) if self.seconds else 0
        return {**kept, **times, "rows_per_second": rate, "longest_gap_seconds": round(self.longest_gap, 3)}


class Writer:
    """Writes rows of new choices, in transactions as large as the settings say, and publishes when it is due."""

    def __init__(self, settings: Settings, store: Store, publisher: Publisher, users: int, version: int) -> None:
        self._settings, self._store, self._publisher = settings, store, publisher
        self._ahead = choices(users, version)
        self._offset = int(time.time()) * 1_000

    def run(self, rate: float, until: Callable[[], bool]) -> Written:
        """Writes this many rows a second until a condition holds."""
        done, began, made = Written(), time.monotonic(), 0
        most = self._settings.batch_rows // RECORDS_PER_CHOICE
        while not until():
            due = round(rate * (time.monotonic() - began) / ROWS_PER_CHOICE) - made
            if due > 0:
                made += min(due, most)
                self._write(min(due, most), done)
            stopped = time.monotonic()
            done.publications += self._publisher.publish_if_due(is_behind=due > most)
            if (stop := time.monotonic() - stopped) > 0.01:
                done.stop.append(stop)
            if due <= most:
                time.sleep(self._settings.batch_seconds)
        done.seconds = time.monotonic() - began
        return done

    def forget(self, user: str) -> float:
        """Deletes a person's rows; returns the seconds that it took."""
        now = datetime.now(UTC)
        request = ForgetRequest(event_id="r", occurred_at=now, user_id=user, actor="benchmark")
        empty = Receipt(event_id="r", occurred_at=now, subject=subject_of(user))
        receipt = with_scope(empty, request, Forgotten(event_id="r", until=now, actor="benchmark", done=True))
        began = time.monotonic()
        self._store.write(Batch(), {}, [receipt])
        self._publisher.note()
        return time.monotonic() - began

    def _write(self, count: int, done: Written) -> None:
        values = [(topic_of(type(event)), encode(event)) for events in islice(self._ahead, count) for event in events]
        now_ms, began, batch = time.time_ns() // 1_000_000, time.monotonic(), Batch()
        for topic, value in values:
            self._offset += 1
            if (change := read(Record(topic, 0, self._offset, now_ms, None, value))) is not None:
                batch.add(change)
        offsets = {("benchmark", 0): Progress(self._offset + 1, "id")}
        done.rows += sum(self._store.write(batch, offsets).values())
        ended = time.monotonic()
        done.batch.append(ended - began)
        done.ended.append(ended)
        self._publisher.note(datetime.fromtimestamp(now_ms / 1_000, UTC).replace(tzinfo=None))


def at(values: Sequence[float], share: float) -> float:
    """A quantile; 0 of nothing."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0
