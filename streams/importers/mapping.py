"""Mappings: TOML files that name a data set's files and columns, which DuckDB reads.

A column is a name or a DuckDB expression. It may use `line`, the row's number in its file, and `file`, the file's name.
With `each`, the name of a column that holds a list, every element is a row: `each` is the element, `place` its number
from 0.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

import duckdb
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from streams.analytics.schema import sql_literal
from streams.exceptions import StreamsError

ENDINGS = (".json.gz", ".json", ".jsonl.gz", ".jsonl", ".csv", ".csv.gz", ".parquet")
SHIPPED = files("streams.importers") / "mappings"
_NAME = re.compile(r"\w+")
# A list of a hundred items with long descriptions is one line.
_LONGEST_LINE = 1 << 26
_FETCHED_ROWS = 2_000

Column: TypeAlias = Annotated[str, Field(min_length=1, max_length=2_000)]
Metadata: TypeAlias = Column | dict[str, Column]
Row: TypeAlias = dict[str, Any]


class DataSetError(StreamsError, ValueError):
    """A data set or its mapping is missing or broken."""


class SourceTable(BaseModel):
    """A file of a data set; its name may be a glob pattern."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    where: Column | None = None
    each: Column | None = None

    def columns(self) -> dict[str, Column | Metadata | None]:
        """Return the columns to read, by field."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in SourceTable.model_fields}


class ItemColumns(SourceTable):
    """The catalogue. Without `metadata`, it is made of the columns without another use."""

    item: Column
    title: Column | None = None
    description: Column | None = None
    domain: Column | None = None
    metadata: Metadata = "*"


class VisitColumns(SourceTable):
    """Items that users took, without the lists they saw."""

    user: Column
    item: Column
    time: Column | None = None
    order: Column | None = None
    rating: Column | None = None


class ListColumns(SourceTable):
    """Lists that users saw, one row per item. Without `list`, each line of the file is a list."""

    user: Column
    item: Column
    list: Column = "line"
    time: Column | None = None
    order: Column | None = None
    position: Column = "place"
    taken: Column | None = None
    request: Column | None = None
    title: Column | None = None
    metadata: Metadata | None = None


class TakenColumns(SourceTable):
    """The taken items, in a file or rows of their own."""

    list: Column
    item: Column


class DataMapping(BaseModel):
    """The tables of a data set, with visits, lists or both."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: str = ""
    domain: str | None = None
    items: ItemColumns | None = None
    visits: VisitColumns | None = None
    lists: ListColumns | None = None
    taken: TakenColumns | None = None

    @model_validator(mode="after")
    def _check_tables(self) -> Self:
        if self.visits is None and self.lists is None:
            raise ValueError("needs a table [visits] or [lists]")
        if self.visits is not None and self.items is None:
            raise ValueError("[visits] need a table [items]")
        if self.lists is not None and (self.lists.taken is None) == (self.taken is None):
            raise ValueError("[lists] need either a column `taken` or a table [taken]")
        return self

    def fits(self, path: Path) -> bool:
        """True if the folder has a file for each table."""
        return all(find_files(path, table.file) for table in (self.items, self.visits, self.lists) if table)


def shipped() -> dict[str, DataMapping]:
    """Return the mappings of this package by name."""
    names = sorted(file.name for file in SHIPPED.iterdir() if file.name.endswith(".toml"))
    return {name.removesuffix(".toml"): read_mapping(name.removesuffix(".toml")) for name in names}


def read_mapping(name: str) -> DataMapping:
    """Read a TOML file, or a mapping of this package by its name."""
    own = SHIPPED / f"{name}.toml"
    try:
        text = own.read_text("utf-8") if own.is_file() else Path(name).read_text("utf-8")
        return DataMapping.model_validate(tomllib.loads(text))
    except OSError as error:
        raise DataSetError(f"there is no mapping {name}: name a TOML file, or see docs/datasets.md") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise DataSetError(f"the mapping {name} is broken: {error}") from error


def find_files(path: Path, pattern: str) -> list[Path]:
    """Return the folder's files of that name that hold rows; a file stands for all of them."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.glob(pattern) if file.name.endswith(ENDINGS) and file.is_file())


class TableReader:
    """Reads the tables of a folder, or of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = duckdb.connect()
        # The text of a value, without the quotes of JSON.
        self._database.execute("CREATE MACRO text(value) AS to_json(value)->>'$'")

    def rows(self, table: SourceTable) -> Iterator[tuple[str, Row]]:
        """Yield rows as text by field, each with its file and line; `metadata` is JSON.

        A column that the file lacks is None. The mapping's expressions run as SQL: read only mappings that you trust.

        Raises:
            DataSetError: the file is missing, damaged or no table, or lacks an expression's column.
        """
        file = self._only(table.file)
        try:
            source = f"({self._source(file, table)})"
            names = {name for name, *_ in self._database.execute(f"DESCRIBE {source[1:-1]}").fetchall()}
            self._check_columns(file, table, names)
            fields = {name: _expression(name, column, table, names) for name, column in table.columns().items()}
            # Numbered names, since a field's name may be a column's.
            selected = ", ".join(f"{column} AS field_{number}" for number, column in enumerate(fields.values()))
            where = f" WHERE {table.where}" if table.where else ""
            found = self._database.execute(f"SELECT line, {selected} FROM {source} AS row{where} ORDER BY line, place")  # noqa: S608
            while rows := found.fetchmany(_FETCHED_ROWS):
                for line, *values in rows:
                    yield f"{file.name}, line {line}", dict(zip(fields, values, strict=True))
        except duckdb.Error as error:
            message = str(error).partition("\n")[0]
            raise DataSetError(f"{file} cannot be read by this mapping: {message}") from error

    @staticmethod
    def _check_columns(file: Path, table: SourceTable, names: set[str]) -> None:
        for field, column in table.columns().items():
            is_name = isinstance(column, str) and _NAME.fullmatch(column) and column not in names
            if is_name and type(table).model_fields[field].is_required():
                known = ", ".join(sorted(names - {"line", "file", "place", "each"}))
                raise DataSetError(f"{file} has no column {column!r} for `{field}`; it has {known}")

    def _only(self, pattern: str) -> Path:
        found = find_files(self._path, pattern)
        if not found:
            raise DataSetError(f"{self._path} has no {pattern}")
        if len(found) > 1:
            names = ", ".join(file.name for file in found)
            raise DataSetError(f"{self._path} has {len(found)} files {pattern} ({names}): leave one in the folder")
        return found[0]

    @staticmethod
    def _source(file: Path, table: SourceTable) -> str:
        name = sql_literal(str(file))
        if file.name.endswith((".csv", ".csv.gz")):
            # Text, so that an id like 007 keeps its zeros.
            read = f"read_csv({name}, all_varchar=true, header=true, null_padding=true, max_line_size={_LONGEST_LINE})"
        elif file.suffix == ".parquet":
            read = f"read_parquet({name})"
        else:
            # A depth of 1 keeps values as they are written: another would turn 1 into 1.0 beside a 1.5.
            read = (
                f"read_json({name}, format='newline_delimited', maximum_depth=1, sample_size=-1, "
                f"maximum_object_size={_LONGEST_LINE})"
            )
        first = 2 if ".csv" in file.suffixes else 1
        rows = f"SELECT row_number() OVER () + {first - 1} AS line, {sql_literal(file.name)} AS file, * FROM {read}"  # noqa: S608
        if table.each is None:
            return f"SELECT 0 AS place, * FROM ({rows})"  # noqa: S608
        elements = f"({table.each})" if file.suffix == ".parquet" else f"({table.each})::JSON[]"
        return f"SELECT generate_subscripts({elements}, 1) - 1 AS place, unnest({elements}) AS each, * FROM ({rows})"  # noqa: S608


def _expression(field: str, column: Column | Metadata | None, table: SourceTable, names: set[str]) -> str:
    if field == "metadata" and column is not None:
        if isinstance(column, Mapping):
            packed = ", ".join(f'"{name}" := {expression}' for name, expression in column.items())
            return f"CAST(to_json(struct_pack({packed})) AS VARCHAR)"
        if column == "*":
            used = {str(each) for each in table.columns().values()} | {"line", "file", "place", "each"}
            kept = sorted(names - used)
            packed = ", ".join(f'"{name}" := "{name}"' for name in kept)
            return f"CAST(to_json(struct_pack({packed})) AS VARCHAR)" if kept else "NULL"
        return f"CAST(to_json({column}) AS VARCHAR)"
    if column is None or (_NAME.fullmatch(str(column)) and column not in names):
        return "NULL"
    return f'text("{column}")' if column in names else f"text({column})"
