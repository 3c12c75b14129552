"""Exports the snapshot as hive-partitioned Parquet for other engines, into a folder of its own, atomically."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from streams.materializer.analytics import quoted
from streams.materializer.columns import Keep, Table
from streams.materializer.derived import OUTCOMES, SKILL_HISTORY, SKILL_VERSIONS
from streams.materializer.exceptions import MaterializerError
from streams.materializer.tables import TABLES

MANIFEST = "manifest.json"
_TIMES = {OUTCOMES: "ranked_at", SKILL_VERSIONS: "valid_from"}
_STATE = {table for table in TABLES if table.keep is not Keep.FIRST} | {SKILL_HISTORY}
"""Tables of current state, not events: not split by day."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The result for one table."""

    table: str
    rows: int
    files: int
    bytes: int
    partitioned_by: tuple[str, ...]


def exportable() -> dict[str, Table]:
    """The tables that are written, by name."""
    every = [each for table in TABLES for each in (table, *table.children)]
    return {table.name: table for table in (*every, OUTCOMES, SKILL_VERSIONS, SKILL_HISTORY)}


def export(
    con: duckdb.DuckDBPyConnection,
    target: Path,
    tables: Sequence[str] = (),
    since: datetime | None = None,
    *,
    replace: bool = False,
) -> Iterator[Exported]:
    """Writes tables of a snapshot to a temporary folder and renames it to the target at the end.

    Args:
        con: a connection of `read.connect`.
        target: the folder to create, with its parents.
        tables: names from `exportable`; none: all.
        since: only events at or after this moment (naive, in UTC); tables of current state are exported whole.
        replace: replace an existing export.

    Raises:
        MaterializerError: there is no such table, or the folder is in use.
        OSError: the folder cannot be written.
    """
    known = exportable()
    if unknown := sorted(set(tables) - set(known)):
        raise MaterializerError(f"there is no table {', '.join(unknown)}; there are {', '.join(known)}")
    _check(target, replace=replace)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.mkdir()
        done = []
        for name in tables or known:
            done.append(_write(con, known[name], temporary / name, since))
            yield done[-1]
        _write_manifest(con, temporary / MANIFEST, done, since)
        _put_in_place(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check(target: Path, *, replace: bool) -> None:
    """Accepts only an empty folder or, with `replace`, an existing export."""
    if not target.exists():
        return
    if not target.is_dir():
        raise MaterializerError(f"{target} is not a folder; choose another --to")
    if any(target.iterdir()) and not (replace and (target / MANIFEST).is_file()):
        what = "is not empty and not an export" if replace else "holds an export; --replace replaces it"
        raise MaterializerError(f"{target} {what}. Choose another --to")


def _write(con: duckdb.DuckDBPyConnection, table: Table, folder: Path, since: datetime | None) -> Exported:
    moment = _moment(table)
    by = [name for name, there in (("domain", "domain" in table.names), ("day", moment is not None)) if there]
    day = f", {moment}::DATE AS day" if moment else ""
    where = f"WHERE {moment} >= TIMESTAMP {quoted(str(since))}" if moment and since else ""
    query = f"SELECT *{day} FROM {table.name} {where}"  # noqa: S608 - all names are ours
    folder.mkdir()
    if by:
        into, options = folder, f", PARTITION_BY ({', '.join(by)})"
    else:
        into, options = folder / "data_0.parquet", ""
    [(rows,)] = con.execute(
        f"COPY ({query}) TO {quoted(str(into))} (FORMAT parquet, COMPRESSION zstd{options})"
    ).fetchall()
    files = list(folder.rglob("*.parquet"))
    return Exported(table.name, rows, len(files), sum(file.stat().st_size for file in files), tuple(by))


def _moment(table: Table) -> str | None:
    """The column with a row's day; None for tables of current state."""
    if table in _STATE or any(table in parent.children for parent in _STATE):
        return None
    return _TIMES.get(table, "occurred_at")


def _write_manifest(
    con: duckdb.DuckDBPyConnection, path: Path, done: Sequence[Exported], since: datetime | None
) -> None:
    [(layout, prefix)] = con.execute("SELECT schema_version, prefix FROM meta").fetchall()
    info = con.execute("SELECT published_at, newest_record_at, records FROM snapshot_info").fetchall()
    published_at, newest_record_at, records = info[0] if info else (None, None, 0)
    told = {
        "layout": layout,
        "prefix": prefix,
        "published_at": published_at,
        "newest_record_at": newest_record_at,
        "records": records,
        "since": since,
        "tables": {each.table: asdict(each) for each in done},
    }
    path.write_text(json.dumps(told, indent=2, default=_iso) + "\n", encoding="utf-8")


def _iso(moment: datetime) -> str:
    return moment.isoformat() + "Z"


def _put_in_place(temporary: Path, target: Path) -> None:
    """A folder cannot be renamed over a non-empty one: the existing export is moved aside first."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.old")
    if target.exists():
        target.rename(aside)
    temporary.rename(target)
    shutil.rmtree(aside, ignore_errors=True)
