"""Readers of data sets: a folder in, items and histories out."""

from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from schemas.fields import DomainField
from streams.importers import movielens, sager_format
from streams.importers.dataset import Dataset, Visit
from streams.importers.exceptions import DataSetError

__all__ = ["DataSetError", "Dataset", "Format", "Visit", "detect", "load"]


class Format(StrEnum):
    """The layouts that we read."""

    SAGER = sager_format.NAME
    MOVIELENS = movielens.NAME


def detect(path: Path) -> Format:
    """Which layout a folder has.

    Raises:
        DataSetError: none that we know.
    """
    if not path.is_dir():
        raise DataSetError(f"{path} is no folder: name the one that the data set's files are in")
    if sager_format.recognises(path):
        return Format.SAGER
    if movielens.recognises(path):
        return Format.MOVIELENS
    raise DataSetError(
        f"{path} holds no data set that we read: neither items.jsonl.gz with interactions.jsonl.gz, "
        "nor MovieLens' movies.csv with ratings.csv"
    )


def load(
    path: Path,
    limit_users: int | None = None,
    *,
    format: Format | None = None,  # noqa: A002 - the command line's word
    domain: str | None = None,
    min_rating: float | None = None,
) -> Dataset:
    """The data set in a folder.

    Args:
        path: the folder.
        limit_users: keep the first users of the file only, which is quicker to look at.
        format: its layout; found out if not said.
        domain: what its items are, instead of what they say themselves.
        min_rating: leave out visits rated lower.

    Raises:
        DataSetError: it cannot be read; the message says where.
    """
    if domain is not None and not _is_domain(domain):
        raise DataSetError(f"{domain!r} is no domain's name: lower-case letters, digits, `_`, `.` and `-`, at most 64")
    chosen = format or detect(path)
    read = sager_format.load if chosen is Format.SAGER else movielens.load
    return read(path, limit_users, domain=domain, min_rating=min_rating)


def _is_domain(domain: str) -> bool:
    try:
        TypeAdapter(DomainField).validate_python(domain)
    except ValidationError:
        return False
    return True
