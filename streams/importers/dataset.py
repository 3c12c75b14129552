"""A data set in memory, and its events."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson
from pydantic import TypeAdapter, ValidationError

from schemas import Candidate, Interaction, Item, UserIdField, derived_id
from streams.exceptions import StreamsError
from streams.kafka.scanner import Scanner
from streams.settings import Settings

# The first synthetic time, for data that has only an order; also the catalogue's time.
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
APART = timedelta(hours=1)  # the interval between two synthetic times
_USER: TypeAdapter[str] = TypeAdapter(UserIdField)


class DataSetError(StreamsError, ValueError):
    """A folder has no supported data set, or a broken one."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A user's visit to an item. `at` is in UTC."""

    item_id: str
    at: datetime


@dataclass(frozen=True)
class Dataset:
    """A data set; `skipped` counts left-out rows by reason.

    Items and users are in file order, visits oldest first.
    """

    domain: str
    items: dict[str, Candidate]
    histories: dict[str, list[Visit]]
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def visits(self) -> int:
        """The total number of visits."""
        return sum(map(len, self.histories.values()))


class Histories:
    """Collects visits of the file's first users.

    It skips visits to items outside the catalogue and those with a rating below `min_rating`.
    """

    def __init__(self, items: Mapping[str, Candidate], limit_users: int | None, min_rating: float | None) -> None:
        self._items, self._limit, self._min_rating = items, limit_users, min_rating
        self._rows: dict[str, list[tuple[float, str, datetime | None]]] = {}
        self.skipped: Counter[str] = Counter()

    def add(self, user_id: str, item_id: str, order: float, at: datetime | None, rating: float | None = None) -> None:
        """Add one visit, unless it is skipped; `order` sorts a user's visits."""
        if user_id not in self._rows:
            if self._limit is not None and len(self._rows) >= self._limit:
                return
            try:
                _USER.validate_python(user_id)
            except ValidationError:
                self.skipped["visits of users with an invalid id"] += 1
                return
            self._rows[user_id] = []
        item = self._items.get(item_id)
        if self._min_rating is not None and rating is not None and rating < self._min_rating:
            self.skipped[f"visits rated below {self._min_rating:g}"] += 1
        elif item is None:
            self.skipped["visits to items that are not in the catalogue"] += 1
        else:
            # Share the catalogue's string: copies of tens of millions of visits would take gigabytes.
            self._rows[user_id].append((order, item.item_id, at))

    def take(self) -> dict[str, list[Visit]]:
        """Return each user's visits, and empty this collection."""
        histories: dict[str, list[Visit]] = {}
        for user_id in list(self._rows):
            rows = self._rows.pop(user_id)  # one by one, so that rows and visits are not all in memory at once
            rows.sort(key=lambda row: row[0])  # ties keep file order
            if rows:
                times = [at or BEGINNING + place * APART for place, (_, _, at) in enumerate(rows)]
                histories[user_id] = [Visit(row[1], at) for row, at in zip(rows, times, strict=True)]
        return histories


def catalogue(data: Dataset) -> Iterator[Item]:
    """Yield all items."""
    for item in data.items.values():
        event_id = derived_id("import-item", data.domain, item.item_id)
        yield Item.model_validate({"event_id": event_id, "occurred_at": BEGINNING, "domain": data.domain, "item": item})


def interactions(data: Dataset) -> Iterator[Interaction]:
    """Yield every user's visits, user by user."""
    for user_id, visits in data.histories.items():
        for visit in visits:
            event_id = derived_id("import-interaction", data.domain, user_id, visit.item_id, visit.at.isoformat())
            base = {"event_id": event_id, "occurred_at": visit.at, "user_id": user_id}
            yield Interaction.model_validate(base | {"domain": data.domain, "item": data.items[visit.item_id]})


def existing_event_ids(settings: Settings, base: str) -> set[str]:
    """Return the event ids of all records on a topic."""
    with Scanner(settings) as scanner:
        found = set()
        for message in scanner.read(scanner.partitions(base)):
            with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                found.add(str(orjson.loads(message.value() or b"{}")["event_id"]))
        return found
