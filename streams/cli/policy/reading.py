"""What the reading verbs of `sager policy` share: the snapshot, and versions by domain."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streams.cli.options import settings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from schemas import SkillDiff


@contextmanager
def snapshot() -> "Iterator[DuckDBPyConnection]":
    """A read-only connection to the newest snapshot."""
    from streams.materializer import read  # noqa: PLC0415

    con = read.connect(settings())
    try:
        yield con
    finally:
        con.close()


def by_domain(diffs: "list[SkillDiff]") -> "dict[str, list[SkillDiff]]":
    """The diffs of each domain, in their order."""
    found: dict[str, list[SkillDiff]] = {}
    for diff in diffs:
        found.setdefault(diff.domain, []).append(diff)
    return found
