"""Readers of data sets: each turns a folder into items and histories."""

from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from pydantic import TypeAdapter, ValidationError

from schemas.fields import DomainField
from streams.importers import amazon, goodreads, instructrec, movielens, sager_format, yelp
from streams.importers.dataset import Dataset, Visit
from streams.importers.exceptions import DataSetError

__all__ = ["DataSetError", "Dataset", "Format", "Visit", "detect", "load"]


class Reader(Protocol):
    """The interface of a module that reads one layout."""

    FILES: str
    """The files of the layout, in words."""

    def recognises(self, path: Path) -> bool:
        """Whether a folder has this layout."""

    def load(
        self, path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
    ) -> Dataset:
        """Reads the data set in a folder; see `load` below."""


class Format(StrEnum):
    """The supported layouts."""

    SAGER = sager_format.NAME
    MOVIELENS = movielens.NAME
    GOODREADS = goodreads.NAME
    YELP = yelp.NAME
    INSTRUCTREC = instructrec.NAME
    AMAZON = amazon.NAME


_READERS: Final[dict[Format, Reader]] = {
    Format.SAGER: sager_format,
    Format.MOVIELENS: movielens,
    Format.GOODREADS: goodreads,
    Format.YELP: yelp,
    Format.INSTRUCTREC: instructrec,
    Format.AMAZON: amazon,  # last, because it accepts any file as the reviews
}


def detect(path: Path) -> Format:
    """Detects a folder's layout.

    Raises:
        DataSetError: no supported layout.
    """
    if not path.is_dir():
        raise DataSetError(f"{path} is not a folder: name the one that holds the data set's files")
    found = next((format_ for format_, reader in _READERS.items() if reader.recognises(path)), None)
    if found is None:
        layouts = "; ".join(reader.FILES for reader in _READERS.values())
        raise DataSetError(f"{path} holds no data set that we read. We read: {layouts}")
    return found


def load(
    path: Path,
    limit_users: int | None = None,
    *,
    format: Format | None = None,  # noqa: A002 - the command line's word
    domain: str | None = None,
    min_rating: float | None = None,
) -> Dataset:
    """Reads the data set in a folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the file, for a quick look.
        format: its layout; detected by default.
        domain: the items' domain, overriding their own.
        min_rating: skip visits rated lower.

    Raises:
        DataSetError: it cannot be read; the message says where.
    """
    if domain is not None and not _is_domain(domain):
        raise DataSetError(f"{domain!r} is no domain's name: lower-case letters, digits, `_`, `.` and `-`, at most 64")
    reader = _READERS[format or detect(path)]
    return reader.load(path, limit_users, domain=domain, min_rating=min_rating)


def _is_domain(domain: str) -> bool:
    try:
        TypeAdapter(DomainField).validate_python(domain)
    except ValidationError:
        return False
    return True
