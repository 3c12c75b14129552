"""The result of every reader: items, and each user's visits in order."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError

from schemas import Candidate
from schemas.fields import UserIdField

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
"""The first synthetic time, for data that has only an order; also the catalogue's time."""
APART = timedelta(hours=1)
"""The interval between two synthetic times."""
_USER: TypeAdapter[str] = TypeAdapter(UserIdField)


@dataclass(frozen=True, slots=True)
class Visit:
    """A user's visit to an item. `at` is in UTC."""

    item_id: str
    at: datetime


@dataclass(frozen=True)
class Dataset:
    """A data set in memory.

    Attributes:
        domain: the items' domain, such as `films`.
        items: the catalogue, in file order.
        histories: every user's visits, oldest first; users in file order.
        skipped: counts of skipped rows, by reason.
        instructions: users' requests before their last visit, in their own words, if the data has them.
        candidates: the items among which a user's last visit is ranked, in the given order, if the data has them.
    """

    domain: str
    items: dict[str, Candidate]
    histories: dict[str, list[Visit]]
    skipped: Mapping[str, int] = field(default_factory=dict)
    instructions: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def visits(self) -> int:
        """The total number of visits."""
        return sum(map(len, self.histories.values()))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an interactions file. `order` sorts rows; `at` is the time, if known."""

    item_id: str
    order: float
    at: datetime | None


class Histories:
    """Collects rows into histories. The catalogue may be read before or after them.

    Args:
        limit_users: how many of the file's first users to keep; None: all.
        min_rating: visits with a lower rating are skipped; those without a rating are kept.
    """

    def __init__(self, limit_users: int | None = None, min_rating: float | None = None) -> None:
        self._limit = limit_users
        self._min_rating = min_rating
        self._rows: dict[str, list[Row]] = {}
        self._met: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()

    @property
    def met(self) -> Container[str]:
        """The ids of all items that users visited, in the catalogue or not."""
        return self._met.keys()

    def add(self, user_id: str, row: Row, rating: float | None = None) -> None:
        """Adds one row, unless it is skipped."""
        if user_id not in self._rows:
            if self._limit is not None and len(self._rows) >= self._limit:
                return
            if not _is_user(user_id):
                self.skipped["visits of users with an invalid id"] += 1
                return
            self._rows[user_id] = []
        if self._min_rating is not None and rating is not None and rating < self._min_rating:
            self.skipped[f"visits rated below {self._min_rating:g}"] += 1
        else:
            # All visits to an item share one string: with tens of millions of visits, copies would take gigabytes.
            item_id = self._met.setdefault(row.item_id, row.item_id)
            self._rows[user_id].append(Row(item_id, row.order, row.at))

    def result(self, items: Container[str]) -> dict[str, list[Visit]]:
        """The histories of all users with a visit left. Empties this collection.

        Args:
            items: the catalogue; visits to any other item are skipped.
        """
        histories: dict[str, list[Visit]] = {}
        for user_id in list(self._rows):
            rows = self._rows.pop(user_id)  # as it goes, so that rows and visits are not all in memory at once
            known = [row for row in rows if row.item_id in items]
            if len(known) < len(rows):
                self.skipped["visits to items that are not in the catalogue"] += len(rows) - len(known)
            if known:
                histories[user_id] = _visits(known)
        return histories


def _is_user(user_id: str) -> bool:
    try:
        _USER.validate_python(user_id)
    except ValidationError:
        return False
    return True


def _visits(rows: Iterable[Row]) -> list[Visit]:
    ordered = sorted(rows, key=lambda row: row.order)  # stable: ties keep the file's order
    return [Visit(row.item_id, row.at or BEGINNING + place * APART) for place, row in enumerate(ordered)]


def candidate(item: Mapping[str, Any]) -> Candidate | None:
    """An item that fits the schema: overlong texts are cut; None if it is otherwise invalid."""
    try:
        return Candidate.model_validate(
            {**item, "title": item.get("title", "")[:500], "description": item.get("description", "")[:4_000]}
        )
    except ValidationError:
        return None


def catalogue(items: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Candidate], Counter[str]]:
    """The items by id, in the given order, and how many are skipped as invalid."""
    kept: dict[str, Candidate] = {}
    skipped: Counter[str] = Counter()
    for raw in items:
        item = candidate(raw)
        if item is None:
            skipped["items that are larger than the schema allows"] += 1
        else:
            kept[item.item_id] = item
    return kept, skipped
