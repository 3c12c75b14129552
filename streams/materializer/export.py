"""Exports the snapshot as hive-partitioned Parquet for other engines, into a folder of its own, atomically."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from streams import private
from streams.materializer import read
from streams.materializer.analytics import quoted
from streams.materializer.columns import Keep, Table
from streams.materializer.derived import OUTCOMES, SKILL_HISTORY, SKILL_VERSIONS
from streams.materializer.exceptions import MaterializerError
from streams.materializer.manifest import MANIFEST, Exported, Manifest, NotAnExport, exported, listed
from streams.materializer.tables import TABLES

_TIMES = {OUTCOMES: "ranked_at", SKILL_VERSIONS: "valid_from"}
_STATE = {table for table in TABLES if table.keep is not Keep.FIRST} | {SKILL_HISTORY}
"""Tables of current state, not events: not split by day."""


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
    group: str | None = None,
) -> Iterator[Exported]:
    """Writes tables of a snapshot to a temporary folder and renames it to the target at the end.

    Args:
        con: a connection of `read.connect` with `files`, for this export alone.
        target: the folder to create, with its parents.
        tables: names from `exportable`; none: all.
        since: only events at or after this moment (naive, in UTC); tables of current state are exported whole.
        replace: replace an existing export.
        group: who may read it besides its owner.

    Raises:
        MaterializerError: there is no such table, or the folder is in use, or holds anything that is no export.
        OSError: the folder cannot be written.
    """
    known = exportable()
    if unknown := sorted(set(tables) - set(known)):
        raise MaterializerError(f"there is no table {', '.join(unknown)}; there are {', '.join(known)}")
    # A link stays a link to what is replaced.
    target = target.resolve()
    _check(target, replace=replace)
    private.make(target.parent, group)
    # Its name is new and nobody else's: it is removed, whatever happens.
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        read.confine(con, temporary)
        done = []
        for name in tables or known:
            done.append(_write(con, known[name], temporary / name, since))
            yield done[-1]
        shutil.rmtree(temporary / ".spill", ignore_errors=True)
        _write_manifest(con, temporary, done, since)
        private.tighten(temporary, group, ["*"])
        _put_in_place(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check(target: Path, *, replace: bool) -> None:
    """Accepts only an empty folder or, with `replace`, one that is an export and nothing else."""
    if not target.exists():
        return
    if not target.is_dir():
        raise MaterializerError(f"{target} is not a folder; choose another --to")
    if not any(target.iterdir()):
        return
    try:
        exported(target)
    except NotAnExport as error:
        raise NotAnExport(f"{error}. Nothing is replaced: choose another --to, or move away what is there") from error
    if not replace:
        raise MaterializerError(f"{target} holds an export; --replace replaces it. Or choose another --to")


def _write(con: duckdb.DuckDBPyConnection, table: Table, folder: Path, since: datetime | None) -> Exported:
    moment = _moment(table)
    by = [name for name, there in (("domain", "domain" in table.names), ("day", moment is not None)) if there]
    day = f", {moment}::DATE AS day" if moment else ""
    where = f"WHERE {moment} >= TIMESTAMP {quoted(str(since))}" if moment and since else ""
    query = f"SELECT *{day} FROM {table.name} {where}"  # noqa: S608 - our own names; the moment is quoted  # nosec B608
    folder.mkdir()
    if by:
        into, options = folder, f", PARTITION_BY ({', '.join(by)})"
    else:
        into, options = folder / "data_0.parquet", ""
    [(rows,)] = con.execute(
        f"COPY ({query}) TO {quoted(str(into))} (FORMAT parquet, COMPRESSION zstd{options})"
    ).fetchall()
    files = list(folder.rglob("*.parquet"))
    return Exported(
        table=table.name,
        rows=rows,
        files=len(files),
        bytes=sum(file.stat().st_size for file in files),
        partitioned_by=tuple(by),
    )


def _moment(table: Table) -> str | None:
    """The column with a row's day; None for tables of current state."""
    if table in _STATE or any(table in parent.children for parent in _STATE):
        return None
    return _TIMES.get(table, "occurred_at")


def _write_manifest(
    con: duckdb.DuckDBPyConnection, folder: Path, done: Sequence[Exported], since: datetime | None
) -> None:
    [(layout, prefix)] = con.execute("SELECT schema_version, prefix FROM meta").fetchall()
    info = con.execute("SELECT published_at, newest_record_at, records FROM snapshot_info").fetchall()
    published_at, newest_record_at, records = info[0] if info else (None, None, 0)
    manifest = Manifest(
        layout=layout,
        prefix=prefix,
        published_at=_utc(published_at),
        newest_record_at=_utc(newest_record_at),
        records=records,
        since=_utc(since),
        tables={each.table: each for each in done},
        files=listed(folder),
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _utc(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=UTC)


def _put_in_place(temporary: Path, target: Path) -> None:
    """A folder cannot be renamed over a non-empty one: the existing export is moved aside first."""
    aside = temporary.with_suffix(".old")
    if target.exists() and any(target.iterdir()):
        target.rename(aside)
    temporary.rename(target)
    if aside.exists():
        _remove(aside)


def _remove(aside: Path) -> None:
    """Removes an export, file by file: what came to it meanwhile stays, and so does its folder."""
    for path in exported(aside):
        path.rmdir() if path.is_dir() else path.unlink()
    aside.rmdir()
