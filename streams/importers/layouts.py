"""Reads the files of data sets, by a layout for each kind."""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import orjson
from pydantic import TypeAdapter, ValidationError

from schemas import Candidate, DomainField
from streams.importers.dataset import Dataset, DataSetError, Histories

ENDINGS = (".json.gz", ".json", ".jsonl.gz", ".jsonl", ".csv")
MAX_TITLE, MAX_DESCRIPTION = 500, 4_000
# Some descriptions exceed the csv module's default of 128 KiB.
csv.field_size_limit(2**24)
# The errors of a missing field, a wrong type or an impossible time.
_WRONG = (AttributeError, KeyError, TypeError, ValueError, OverflowError, OSError)

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A mapping of a data set's files (glob patterns) and columns.

    `domain` may be a function of the name of the items' file; None: each item names its own. Without a column `user`
    each row is one, numbered from 0, and `item` is the list of all their items, oldest first. The column `order`, in
    seconds, replaces a missing time; without it, too, the file's order counts.
    """

    words: str
    domain: str | Callable[[str], str] | None
    items: str
    item_id: str
    metadata: Callable[[Row], dict[str, Any]]
    visits: str
    user: str = ""
    item: str
    time: str = ""
    order: str = ""

    def read(self, folder: Path, limit_users: int | None, domain: str | None, min_rating: float | None) -> Dataset:
        """Read the data set in a folder; see `layouts.load`."""
        items_file = _only(folder, self.items)
        items, skipped, domains = self._catalogue(items_file)
        if domain is None and self.domain is None and len(domains) != 1:
            raise DataSetError(
                f"the items of {folder} name {len(domains)} domains ({', '.join(sorted(domains)[:5]) or 'none'}): "
                "name one with --domain"
            )
        histories, file = Histories(items, limit_users, min_rating), _only(folder, self.visits)
        for number, row in _rows(file):
            try:
                self._add(histories, number, row)
            except _WRONG as error:
                raise _broken(file, number, error) from error
        named = self.domain(items_file.name) if callable(self.domain) else self.domain
        return Dataset(domain or named or domains.pop(), items, histories.take(), skipped + histories.skipped)

    def _add(self, histories: Histories, number: int, row: Row) -> None:
        if not self.user:
            for place, item in enumerate(row[self.item]):
                histories.add(str(number - 1), _id_of(item), place, None)
            return
        rating = row.get("rating")
        has_time = not self.order or row.get(self.time) is not None
        at = datetime.fromtimestamp(float(row[self.time]), UTC) if has_time else None
        order = float(row.get(self.order, number)) if at is None else at.timestamp()
        user, item = _id_of(row[self.user]), _id_of(row[self.item])
        histories.add(user, item, order, at, None if rating is None else float(rating))

    def _catalogue(self, file: Path) -> tuple[dict[str, Candidate], Counter[str], set[str]]:
        """Return items by id, skipped ones by reason, and named domains."""
        kept, skipped, domains = dict[str, Candidate](), Counter[str](), set[str]()
        for number, row in _rows(file):
            try:
                item = self._item(row)
            except _WRONG as error:
                raise _broken(file, number, error) from error
            if row.get("domain"):
                domains.add(str(row["domain"]))
            try:
                kept[item["item_id"]] = Candidate.model_validate(item)
            except ValidationError:
                skipped["items that are larger than the schema allows"] += 1
        return kept, skipped, domains

    def _item(self, row: Row) -> dict[str, Any]:
        limits = {"title": MAX_TITLE, "description": MAX_DESCRIPTION}
        # Some texts are null.
        texts = {name: text.strip()[:most] for name, most in limits.items() if isinstance(text := row.get(name), str)}
        facts = {name: value for name, value in self.metadata(row).items() if value is not None}
        return {"item_id": _id_of(row[self.item_id]), **texts, "metadata": facts}


def _id_of(value: Any) -> str:
    """Return an id as text; some files write it as a number."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an id")
    return str(value)


def _files(folder: Path, pattern: str) -> list[Path]:
    """The folder's files of that name that hold rows, sorted."""
    return sorted(file for file in folder.glob(pattern) if file.name.endswith(ENDINGS) and file.is_file())


def _only(folder: Path, pattern: str) -> Path:
    files = _files(folder, pattern)
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise DataSetError(f"{folder} has {len(files)} files {pattern} ({names}): leave one in the folder")
    return files[0]


def _broken(file: Path, number: int, error: Exception) -> DataSetError:
    return DataSetError(f"{file}, line {number}: a field is missing or wrong ({type(error).__name__}: {error})")


def _rows(file: Path) -> Iterator[tuple[int, Row]]:
    """Yield a file's rows with their line numbers from 1."""
    number = 0
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
            if file.suffix == ".csv":
                reader = csv.DictReader(io.TextIOWrapper(lines, "utf-8-sig", newline=""))
                for cells in reader:
                    number = reader.line_num
                    yield number, cells
                return
            for number, line in enumerate(lines, 1):
                if line.strip():
                    row = orjson.loads(line)
                    if not isinstance(row, dict):
                        raise DataSetError(f"{file}, line {number}: is no JSON object")
                    yield number, row
    except (orjson.JSONDecodeError, csv.Error, UnicodeDecodeError) as error:
        raise DataSetError(f"{file}, line {number}: cannot be read ({error})") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataSetError(f"{file} is damaged or incomplete ({error}): fetch it again") from error


_INSTRUCTREC_DOMAINS = {"books": "books", "movietv": "movietv", "reads": "goodreads", "yelp": "yelp"}


def _sager_metadata(row: Row) -> dict[str, Any]:
    own = ("item_id", "title", "description", "domain")
    return {name: value for name, value in row.items() if name not in own}


def _movielens_metadata(row: Row) -> dict[str, Any]:
    year = re.search(r"\((\d{4})\)\s*$", row["title"])
    genres = None if row["genres"] == "(no genres listed)" else row["genres"]
    return {"genres": genres, "year": year and int(year[1])}


# In the order of their detection. Totals such as stars and review counts are left out: they date from the collection of
# the data, after the visits that a method has to predict.
LAYOUTS = (
    Layout(
        words="items.jsonl.gz with interactions.jsonl.gz",
        domain=None,
        items="items.jsonl*",
        visits="interactions.jsonl*",
        item_id="item_id",
        metadata=_sager_metadata,
        user="user_id",
        item="item_id",
        time="timestamp",
        order="order",
    ),
    Layout(
        words="MovieLens' movies.csv with ratings.csv",
        domain="films",
        items="movies.csv",
        visits="ratings.csv",
        item_id="movieId",
        metadata=_movielens_metadata,
        user="userId",
        item="movieId",
        time="timestamp",
    ),
    Layout(
        words=(
            "InstructRec's <set>All_recagent.jsonl with combined_<set>_asin_mapping.csv (see docs/datasets.md for .pkl)"
        ),
        domain=lambda file: _INSTRUCTREC_DOMAINS.get(file.split("_")[1], "instructrec"),
        items="combined_*_asin_mapping.csv",
        visits="*All_recagent*",
        item_id="index",
        metadata=lambda row: {"asin": row.get("asin")},
        item="asin",
    ),
)


def load(
    folder: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Read the data set in a folder, whose layout is detected.

    Args:
        folder: holds the files, zipped or not.
        limit_users: keep only the first users of the file.
        domain: of all items, instead of the one that they name.
        min_rating: skip visits rated lower.
    """
    if not folder.is_dir():
        raise DataSetError(f"{folder} is not a folder: name the one that holds the data set's files")
    if domain is not None:
        try:
            TypeAdapter(DomainField).validate_python(domain)
        except ValidationError:
            raise DataSetError(
                f"{domain!r} is not a domain: lower-case letters, digits, `_`, `.` and `-`, at most 64"
            ) from None
    layout = next((each for each in LAYOUTS if _files(folder, each.items) and _files(folder, each.visits)), None)
    if layout is None:
        raise DataSetError(f"{folder} holds no supported data set: {'; '.join(each.words for each in LAYOUTS)}")
    return layout.read(folder, limit_users, domain, min_rating)
