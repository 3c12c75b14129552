"""Reads files line by line, so that a file of many gigabytes takes no more memory than one line."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import orjson

from streams.importers.exceptions import DataSetError

JSON_ENDINGS = (".json.gz", ".json", ".jsonl.gz", ".jsonl")
MAX_FIELD = 2**24
"""Maximum length of a CSV field, in characters; some descriptions exceed the csv module's default of 128 KiB."""
_WRONG = (KeyError, TypeError, ValueError, OverflowError, OSError)
"""The errors of a missing field, a wrong type or an impossible time."""
Line = TypeVar("Line")
Made = TypeVar("Made")


def json_files(folder: Path, beginning: str = "") -> list[Path]:
    """The folder's JSON-lines files with this prefix, sorted by name."""
    return sorted(file for file in folder.glob(f"{beginning}*") if file.name.endswith(JSON_ENDINGS) and file.is_file())


def only(files: list[Path], folder: Path, what: str) -> Path:
    """The only file of these.

    Raises:
        DataSetError: there is none, or more than one.
    """
    if not files:
        raise DataSetError(f"{folder} has no {what}")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise DataSetError(f"{folder} has {len(files)} files that may be its {what} ({names}): leave one in the folder")
    return files[0]


def json_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, gzipped or not, with their line numbers from 1; empty lines are skipped.

    Raises:
        DataSetError: a line is not a JSON object, or the file is damaged.
    """
    number = 0
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                row = orjson.loads(line)
                if not isinstance(row, dict):
                    raise DataSetError(f"{file}, line {number}: is no JSON object")
                yield number, row
    except orjson.JSONDecodeError as error:
        raise DataSetError(f"{file}, line {number}: is no JSON ({error})") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataSetError(f"{file} is damaged or incomplete ({error}): fetch it again") from error


def csv_rows(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, with their line numbers from 1.

    Raises:
        DataSetError: the file is not there, lacks one of the columns, or a row does.
    """
    if not file.is_file():
        raise DataSetError(f"{file.parent} has no {file.name}")
    csv.field_size_limit(MAX_FIELD)
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines)
        try:
            if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                raise DataSetError(f"{file} has no column {', '.join(missing)}: is it the data set's own?")
            for row in reader:
                if any(row[column] is None for column in columns):
                    raise DataSetError(f"{file}, line {reader.line_num}: has too few columns")
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataSetError(f"{file}, line {reader.line_num}: {error}") from error


def made(
    file: Path, lines: Iterable[tuple[int, Line]], make: Callable[[int, Line], Made | None], needs: str
) -> Iterator[Made]:
    """What a reader makes of each line, without those of which it makes None.

    Args:
        file: named in the error.
        lines: the file's lines with their numbers.
        make: takes a line's number and content; may raise what a missing or wrong field raises.
        needs: the fields that a line needs, for the error.

    Raises:
        DataSetError: a line lacks a field or has an invalid one.
    """
    for number, line in lines:
        try:
            found = make(number, line)
        except _WRONG as error:
            raise DataSetError(f"{file}, line {number}: needs {needs} ({type(error).__name__}: {error})") from error
        if found is not None:
            yield found


def id_of(value: Any) -> str:
    """An id as text; some files write it as a number.

    Raises:
        TypeError: it is neither a text nor a whole number.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an id")
    return str(value)


def text_of(value: Any) -> str:
    """The text, or "" for anything else, such as null."""
    return value if isinstance(value, str) else ""


def texts_of(value: Any) -> list[str]:
    """The texts in a list, however deeply nested; a single text counts as a list of one."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [text for part in value for text in texts_of(part)] if isinstance(value, list) else []


def moment(seconds: Any) -> datetime:
    """The time of Unix seconds.

    Raises:
        TypeError, ValueError, OverflowError, OSError: it is not a possible time.
    """
    return datetime.fromtimestamp(float(seconds), UTC)


def rating_of(value: Any) -> float | None:
    """The rating; None if there is none.

    Raises:
        TypeError, ValueError: it is not a number.
    """
    return None if value is None else float(value)
