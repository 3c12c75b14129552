"""Reads a data set by its mapping."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from schemas import Candidate
from schemas.base import DomainField, UserIdField
from schemas.events import MAX_CANDIDATES
from streams.importers.dataset import APART, BEGINNING, Dataset, LoggedList, Visit
from streams.importers.mapping import (
    DataMapping,
    DataSetError,
    ItemColumns,
    ListColumns,
    Row,
    TableReader,
    VisitColumns,
    read_mapping,
    shipped,
)

MAX_TITLE, MAX_DESCRIPTION, MAX_REQUEST = 500, 4_000, 2_000
MAX_ERRORS = 10
Time = Annotated[datetime, AfterValidator(lambda at: at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))]


class _VisitRow(BaseModel):
    user: UserIdField
    item: str
    time: Time | None
    order: float | None
    rating: float | None


class _ShownRow(BaseModel):
    user: UserIdField
    item: str
    list: str
    time: Time | None
    order: float | None
    position: float
    taken: bool | None
    request: str | None


_RowT = TypeVar("_RowT", bound=BaseModel)


def load(
    path: Path,
    limit_users: int | None = None,
    *,
    domain: str | None = None,
    min_rating: float | None = None,
    mapping: str | None = None,
) -> Dataset:
    """Read a data set.

    Args:
        path: a folder with its files, zipped or not; or one file.
        limit_users: keep only the first users of the file.
        domain: of all items, instead of the one that they name.
        min_rating: skip visits rated lower.
        mapping: a TOML file, or the name of a mapping of this package; by default the first that fits.

    Raises:
        DataSetError: the files or the mapping do not fit, or every line is broken.
    """
    if domain is not None:
        try:
            TypeAdapter(DomainField).validate_python(domain)
        except ValidationError:
            raise DataSetError(
                f"{domain!r} is not a domain: lower-case letters, digits, `_`, `.` and `-`, at most 64"
            ) from None
    return _Loader(path, _mapping_of(path, mapping), limit_users, min_rating).load(domain)


def _mapping_of(path: Path, name: str | None) -> DataMapping:
    if not path.exists():
        raise DataSetError(f"{path} does not exist: name the folder or the file with the data set")
    if name is not None:
        return read_mapping(name)
    known = shipped()
    found = next((each for each in known.values() if path.is_dir() and each.fits(path)), None)
    if found is None:
        layouts = "; ".join(each.words for each in known.values())
        raise DataSetError(f"{path} holds no supported data set ({layouts}): name its columns with --mapping")
    return found


class _Loader:
    """Reads the tables of one data set."""

    def __init__(self, path: Path, mapping: DataMapping, limit_users: int | None, min_rating: float | None) -> None:
        self._mapping, self._tables = mapping, TableReader(path)
        self._limit, self._min_rating = limit_users, min_rating
        self._items: dict[str, Candidate] = {}
        self._domains: set[str] = set()
        self._users: set[str] = set()
        self._skipped = Counter[str]()
        self._errors: list[str] = []

    def load(self, domain: str | None) -> Dataset:
        tables = self._mapping
        if tables.items is not None:
            self._read_items(tables.items)
        visits = self._read_visits(tables.visits) if tables.visits is not None else {}
        lists = self._read_lists(tables.lists) if tables.lists is not None else {}
        if self._errors and not (visits or lists):
            raise DataSetError(self._errors[0])
        found = domain or tables.domain or (next(iter(self._domains)) if len(self._domains) == 1 else None)
        if found is None:
            named = ", ".join(sorted(self._domains)[:5]) or "none"
            raise DataSetError(f"the items name {len(self._domains)} domains ({named}): name one with --domain")
        return Dataset(found, self._items, visits, lists, self._skipped, tuple(self._errors))

    def _read_items(self, table: ItemColumns) -> None:
        for where, row in self._tables.rows(table):
            if row["item"] is None:
                self._reject(where, "has no item")
                continue
            if row["domain"]:
                self._domains.add(row["domain"])
            try:
                self._items[row["item"]] = _candidate(row)
            except ValidationError as error:
                self._reject(where, _reason(error))

    def _read_visits(self, table: VisitColumns) -> dict[str, list[Visit]]:
        found: dict[str, list[tuple[float, datetime | None, str]]] = {}
        for number, (where, values) in enumerate(self._tables.rows(table)):
            row = self._parse(_VisitRow, where, values)
            if row is None:
                continue
            item = self._items.get(row.item)
            if self._min_rating is not None and row.rating is not None and row.rating < self._min_rating:
                self._skipped[f"visits rated below {self._min_rating:g}"] += 1
            elif item is None:
                self._skipped["visits to items that are not in the catalogue"] += 1
            else:
                # The catalogue's string: copies for tens of millions of visits would take gigabytes.
                found.setdefault(row.user, []).append((_key(row.time, row.order, number), row.time, item.item_id))
        return {user_id: [Visit(item_id, at) for at, item_id in _timed(found.pop(user_id))] for user_id in list(found)}

    def _read_lists(self, table: ListColumns) -> dict[str, list[LoggedList]]:
        taken: dict[str, set[str]] = {}
        if self._mapping.taken is not None:
            for _, values in self._tables.rows(self._mapping.taken):
                taken.setdefault(values["list"], set()).add(values["item"])
        marked: dict[tuple[str, str], set[str]] = {}
        shown: dict[tuple[str, str], list[tuple[_ShownRow, Candidate | None]]] = {}
        for where, values in self._tables.rows(table):
            row = self._parse(_ShownRow, where, values)
            if row is None:
                continue
            item = self._shown_item(where, values)
            shown.setdefault((row.user, row.list), []).append((row, item))
            if row.taken:
                marked.setdefault((row.user, row.list), set()).add(row.item)
        found: dict[str, list[tuple[float, datetime | None, LoggedList]]] = {}
        for number, ((user_id, list_id), rows) in enumerate(shown.items()):
            items = [item for _, item in sorted(rows, key=lambda each: each[0].position) if item is not None]
            first = rows[0][0]
            if len(items) < len(rows) or len({item.item_id for item in items}) < len(items):
                self._skipped["lists with a broken or repeated item"] += 1
                continue
            if len(items) > MAX_CANDIDATES:
                self._skipped[f"lists of more than {MAX_CANDIDATES} items"] += 1
                continue
            names = taken.get(list_id, set()) | marked.get((user_id, list_id), set())
            chosen = tuple(item.item_id for item in items if item.item_id in names)
            logged = LoggedList(list_id, BEGINNING, tuple(items), chosen, (first.request or "")[:MAX_REQUEST])
            found.setdefault(user_id, []).append((_key(first.time, first.order, number), first.time, logged))
        return {
            user_id: [replace(logged, at=at) for at, logged in _timed(of_user)] for user_id, of_user in found.items()
        }

    def _shown_item(self, where: str, values: Row) -> Candidate | None:
        known = self._items.get(values["item"])
        if known is not None and values["metadata"] is None:
            return known
        if self._mapping.items is not None and values["metadata"] is None:
            self._reject(where, f"shows an item that is not in the catalogue: {values['item']}")
            return None
        try:
            return _candidate(values)
        except ValidationError as error:
            self._reject(where, _reason(error))
            return None

    def _parse(self, kind: type[_RowT], where: str, values: Row) -> _RowT | None:
        """Return the row of a wanted user; None if it is broken, or the user is one too many."""
        try:
            row = kind.model_validate(values)
        except ValidationError as error:
            self._reject(where, _reason(error))
            return None
        user_id = values["user"]
        if user_id not in self._users:
            if self._limit is not None and len(self._users) >= self._limit:
                return None
            self._users.add(user_id)
        return row

    def _reject(self, where: str, reason: str) -> None:
        self._skipped["broken lines"] += 1
        if len(self._errors) < MAX_ERRORS:
            self._errors.append(f"{where}: {reason}")


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']} ({str(first['input'])[:60]!r})"


def _candidate(row: Row) -> Candidate:
    metadata = from_json(row["metadata"]) if row["metadata"] else {}
    if isinstance(metadata, dict):
        metadata = {name: value for name, value in metadata.items() if not _is_missing(value)}
    return Candidate.model_validate(
        {
            "item_id": row["item"],
            "title": (row["title"] or "")[:MAX_TITLE],
            "description": (row.get("description") or "")[:MAX_DESCRIPTION],
            "metadata": metadata,
        }
    )


def _is_missing(value: Any) -> bool:
    # pandas writes NaN for a missing number.
    return value in (None, "") or (isinstance(value, float) and math.isnan(value))


def _key(at: datetime | None, order: float | None, number: int) -> float:
    """Return the sort key of a row: time, else order, else its number."""
    if at is not None:
        return at.timestamp()
    return float(number) if order is None else order


_ThingT = TypeVar("_ThingT")


def _timed(rows: list[tuple[float, datetime | None, _ThingT]]) -> Iterator[tuple[datetime, _ThingT]]:
    """Yield things oldest first, ties in file order, with synthetic times if they have none."""
    rows.sort(key=lambda row: row[0])
    for place, (_, at, thing) in enumerate(rows):
        yield at or BEGINNING + place * APART, thing
