"""Exports the snapshot as hive-partitioned Parquet for other engines, into a folder of its own, atomically."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from pydantic import BaseModel, ConfigDict, ValidationError

from streams import private
from streams.materializer import read
from streams.materializer.exceptions import MaterializerError, NotAnExport
from streams.materializer.schema import INTERNAL, Keep, Table, all_tables, quoted, tables

MANIFEST = "manifest.json"
_TIMES = {"outcomes": "ranked_at", "skill_versions": "valid_from"}


class Exported(BaseModel):
    """The result for one table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str
    rows: int
    files: int
    bytes: int
    partitioned_by: tuple[str, ...]


class Manifest(BaseModel):
    """The content of an export, and its freshness.

    Attributes:
        layout: the snapshot's layout.
        prefix: the deployment's topic prefix.
        published_at: when the snapshot was published, in UTC.
        newest_record_at: when its newest record was sent.
        records: how many records it holds.
        since: the moment from which on events were exported; None: all.
        tables: the results, by table.
        files: the bytes of every file, by its path in the folder: nothing else is ever replaced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: int
    prefix: str
    published_at: datetime | None
    newest_record_at: datetime | None
    records: int
    since: datetime | None
    tables: dict[str, Exported]
    files: dict[str, int]


def exportable() -> Mapping[str, Table]:
    """Return the tables that are written, by name."""
    return {name: table for name, table in all_tables().items() if name not in INTERNAL}


def export(
    con: duckdb.DuckDBPyConnection,
    target: Path,
    names: Sequence[str] = (),
    since: datetime | None = None,
    *,
    replace: bool = False,
    group: str | None = None,
) -> Iterator[Exported]:
    """Write tables of a snapshot to a temporary folder and rename it to the target at the end.

    Args:
        con: a connection of `read.connect` with `files`, for this export alone.
        target: the folder to create, with its parents.
        names: names from `exportable`; none: all.
        since: only events at or after this moment (naive, in UTC); tables of current state are exported whole.
        replace: replace an existing export.
        group: the group that may read it, besides its owner.

    Raises:
        MaterializerError: there is no such table, or the folder is in use, or holds anything that is no export.
        OSError: the folder cannot be written.
    """
    known = exportable()
    if unknown := sorted(set(names) - set(known)):
        raise MaterializerError(f"there is no table {', '.join(unknown)}; there are {', '.join(known)}")
    target = target.resolve()  # a link stays a link to the export
    _check(target, replace=replace)
    private.make(target.parent, group)
    # Its name is new, so that it can be removed, whatever happens.
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    aside = temporary.with_suffix(".old")
    try:
        read.confine(con, temporary)
        done = []
        for name in names or known:
            done.append(_write(con, known[name], temporary / name, since))
            yield done[-1]
        shutil.rmtree(temporary / ".spill", ignore_errors=True)
        _write_manifest(con, temporary, done, since)
        private.tighten(temporary, group, ["*"])
        # A folder cannot be renamed over a non-empty one: the existing export is moved aside first.
        if target.exists():
            _check(target, replace=replace)
            target.rename(aside)
        temporary.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check(target: Path, *, replace: bool) -> None:
    """Accept only an empty folder or, with `replace`, one that is an unchanged export."""
    if not target.exists():
        return
    if not target.is_dir():
        raise MaterializerError(f"{target} is not a folder; choose another --to")
    if not any(target.iterdir()):
        return
    manifest, found = target / MANIFEST, _files(target)
    try:
        size = found.pop(MANIFEST, 0)
        is_export = size > 0 and found == Manifest.model_validate_json(manifest.read_bytes()).files
    except ValidationError:
        is_export = False
    if not is_export:
        raise NotAnExport(
            f"{target} is not empty, and not only an export: its {MANIFEST} does not name the files in it. Nothing is "
            "replaced: choose another --to, or move away what is there"
        )
    if not replace:
        raise MaterializerError(f"{target} holds an export; --replace replaces it. Or choose another --to")


def _files(folder: Path) -> dict[str, int]:
    """The size of every file in a folder by path; -1 for links and empty folders, which no export has."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size if path.is_file() and not path.is_symlink() else -1
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir())
    }


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
    if not sizes:
        folder.rmdir()
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
    [(layout, prefix)] = con.execute("SELECT schema_version, prefix FROM meta").fetchall()
    info = con.execute("SELECT published_at, newest_record_at, records FROM snapshot_info").fetchall()
    published_at, newest_record_at, records = info[0] if info else (None, None, 0)
    manifest = Manifest(
        layout=layout,
        prefix=prefix,
        published_at=published_at and published_at.replace(tzinfo=UTC),
        newest_record_at=newest_record_at and newest_record_at.replace(tzinfo=UTC),
        records=records,
        since=since and since.replace(tzinfo=UTC),
        tables={each.table: each for each in done},
        files=_files(folder),
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
