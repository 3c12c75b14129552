"""Exports the snapshot as hive-partitioned Parquet for other engines, into a folder of its own, atomically."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import duckdb

from streams import private
from streams.materializer import read
from streams.materializer.exceptions import MaterializerError
from streams.materializer.schema import INTERNAL, Keep, Table, all_tables, quoted, tables

MANIFEST = "manifest.json"
_TIMES = {"outcomes": "ranked_at", "skill_versions": "valid_from"}


class Exported(NamedTuple):
    """The result for one table."""

    table: str
    rows: int
    files: int
    bytes: int
    partitioned_by: tuple[str, ...]


def exportable() -> Mapping[str, Table]:
    """Return the tables that are written, by name."""
    return {name: table for name, table in all_tables().items() if name not in INTERNAL}


def export(
    con: duckdb.DuckDBPyConnection,
    target: Path,
    names: Sequence[str] = (),
    since: datetime | None = None,
    *,
    group: str | None = None,
) -> Iterator[Exported]:
    """Write tables of a snapshot to a temporary folder and rename it to the target at the end.

    Args:
        con: a connection of `read.connect` with `files`, for this export alone.
        target: the folder to create, with its parents; it may exist if it is empty.
        names: names from `exportable`; none: all.
        since: only events at or after this moment (naive, in UTC); tables of current state are exported whole.
        group: the group that may read it, besides its owner.

    Raises:
        MaterializerError: there is no such table, or the folder is in use.
        OSError: the folder cannot be written.
    """
    known = exportable()
    if unknown := sorted(set(names) - set(known)):
        raise MaterializerError(f"there is no table {', '.join(unknown)}; there are {', '.join(known)}")
    target = target.resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise MaterializerError(f"{target} is in use: choose another --to, or remove an older export first")
    private.make(target.parent, group)
    # Its name is new, so that it can be removed, whatever happens.
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        read.confine(con, temporary)
        done = []
        for name in names or known:
            done.append(_write(con, known[name], temporary / name, since))
            yield done[-1]
        shutil.rmtree(temporary / ".spill", ignore_errors=True)
        _write_manifest(con, temporary, done, since)
        private.tighten(temporary, group, ["*"])
        temporary.rename(target)  # fails if the folder is no longer empty
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(con: duckdb.DuckDBPyConnection, table: Table, folder: Path, since: datetime | None) -> Exported:
    moment = _moment(table)
    by = [name for name, exists in (("domain", "domain" in table.names), ("day", moment is not None)) if exists]
    day = f", {moment}::DATE AS day" if moment else ""
    where = f"WHERE {moment} >= TIMESTAMP {quoted(str(since))}" if moment and since else ""
    folder.mkdir()
    into = folder if by else folder / "data_0.parquet"
    options = f", PARTITION_BY ({', '.join(by)})" if by else ""
    [(rows,)] = con.execute(
        f"COPY (SELECT *{day} FROM {table.name} {where}) TO {quoted(str(into))} "
        f"(FORMAT parquet, COMPRESSION zstd{options})"
    ).fetchall()
    sizes = [file.stat().st_size for file in folder.rglob("*.parquet")]
    return Exported(table=table.name, rows=rows, files=len(sizes), bytes=sum(sizes), partitioned_by=tuple(by))


def _moment(table: Table) -> str | None:
    """The column with a row's day; None for tables of current state, which are not split by day."""
    state = [each for each in tables() if each.keep is not Keep.FIRST]
    if table.name == "skill_history" or table in state or any(table in each.children for each in state):
        return None
    return _TIMES.get(table.name, "occurred_at")


def _write_manifest(
    con: duckdb.DuckDBPyConnection, folder: Path, done: Sequence[Exported], since: datetime | None
) -> None:
    """Write the export's content and freshness; times are in UTC."""
    [(layout, prefix)] = con.execute("SELECT schema_version, prefix FROM meta").fetchall()
    info = con.execute("SELECT published_at, newest_record_at, records FROM snapshot_info").fetchall()
    published_at, newest_record_at, records = info[0] if info else (None, None, 0)
    moments = {"published_at": published_at, "newest_record_at": newest_record_at, "since": since}
    manifest = {
        "layout": layout,
        "prefix": prefix,
        "records": records,
        **{name: moment and moment.replace(tzinfo=UTC).isoformat() for name, moment in moments.items()},
        "tables": {each.table: each._asdict() for each in done},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
