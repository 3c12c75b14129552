"""Reads public data sets: each folder becomes items and users' histories."""

from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from schemas.base import DomainField
from streams.importers.dataset import Dataset, DataSetError, Visit
from streams.importers.layouts import LAYOUTS

__all__ = ["DataSetError", "Dataset", "Format", "Visit", "detect", "load"]


class Format(StrEnum):
    """The supported layouts."""

    SAGER = "sager"
    MOVIELENS = "movielens"
    INSTRUCTREC = "instructrec"


def detect(path: Path) -> Format:
    """Detect a folder's layout."""
    if not path.is_dir():
        raise DataSetError(f"{path} is not a folder: name the one that holds the data set's files")
    found = next((layout for layout in LAYOUTS if layout.recognises(path)), None)
    if found is None:
        raise DataSetError(f"{path} holds no supported data set: {'; '.join(each.words for each in LAYOUTS)}")
    return Format(found.name)


def load(
    path: Path,
    limit_users: int | None = None,
    *,
    format: Format | None = None,  # noqa: A002 - the command line's word
    domain: str | None = None,
    min_rating: float | None = None,
) -> Dataset:
    """Read the data set in a folder.

    `limit_users` keeps only the first users of the file; `min_rating` skips visits rated lower.
    """
    if domain is not None:
        try:
            TypeAdapter(DomainField).validate_python(domain)
        except ValidationError:
            raise DataSetError(
                f"{domain!r} is not a domain: lower-case letters, digits, `_`, `.` and `-`, at most 64"
            ) from None
    layout = next(each for each in LAYOUTS if each.name == (format or detect(path)))
    return layout.read(path, limit_users, domain, min_rating)
