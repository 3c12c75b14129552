"""Opens, copies and removes the writer's DuckDB files, and explains errors."""

import shutil
from pathlib import Path

import duckdb

from streams.analytics import Damaged, MaterializerError, schema
from streams.analytics.read import LOG_SUFFIXES
from streams.analytics.schema import sql_literal

# A checkpoint, every second or so, rewrites each table's last row group. The default of 122,880 rows takes twice as
# long; much smaller groups compress worse.
_ROW_GROUP = 32_768


def open_for_writing(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection that uses the file, attached as `live`."""
    con = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # DuckDB 1.5, today's command line, cannot read the default storage of 2.0.
            "storage_compatibility_version": "v1.5.0",
            "threads": "2",
            # No automatic checkpoints: one during a copy would change blocks of the newest state.
            "checkpoint_threshold": "1TB",
            "temp_directory": str(spill_of(path)),
        }
    )
    try:
        attach(con, path, "live")
        con.execute("USE live")
        # A killed process may have left rows of erased users. The file's lock excludes other processes.
        shutil.rmtree(spill_of(path), ignore_errors=True)
    except BaseException:
        con.close()
        raise
    return con


def attach(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Attach a file for writing."""
    con.execute(f"ATTACH {sql_literal(str(path))} AS {name} (ROW_GROUP_SIZE {_ROW_GROUP})")


def copy_rows(con: duckdb.DuckDBPyConnection, source: str, target: str) -> None:
    """Create the tables in an empty attached database, and copy all rows."""
    # Free blocks and indexes are not copied: both may hold deleted rows, and indexes may be damaged.
    con.execute(f"USE {target}")
    schema.create_tables(con)
    for name, table in schema.all_tables().items():
        columns = ", ".join(f'"{column}"' for column in table.names)
        con.execute(f"INSERT INTO {target}.{name} SELECT {columns} FROM {source}.{name}")
    schema.create_queries(con)
    con.execute("UPDATE meta SET is_stained = NULL")
    con.execute(f"CHECKPOINT {target}").fetchall()


def remove_database(path: Path, *, logs_only: bool = False) -> None:
    """Remove a database, its logs and spilled rows, or only the logs."""
    for end in LOG_SUFFIXES:
        path.with_name(path.name + end).unlink(missing_ok=True)
    if not logs_only:
        path.unlink(missing_ok=True)
        shutil.rmtree(spill_of(path), ignore_errors=True)


def spill_of(path: Path) -> Path:
    """Return the folder for a database's spilled rows."""
    return path.with_name(path.name + ".spill")


# DuckDB's messages for a damaged file, as it has no error class for one.
_DAMAGE = (
    *("Corrupt ", "Could not read enough bytes", "Duplicate key", "Failure while replaying WAL"),
    "is not a valid DuckDB database file",
)
# Messages for a temporary shortage, which those above quote if a log cannot be replayed for want of space.
_NO_DAMAGE = ("No space left", "Out of Memory")


def cannot_write(path: Path, error: duckdb.Error) -> MaterializerError:
    """Return the error for a failed write, usually on a full disk."""
    return _damage(path, error) or MaterializerError(
        f"DuckDB cannot write {path}: {error}. Make room if the disk is full, and start again: what was committed "
        "is in the file, and the rest is read again from Kafka"
    )


def cannot_open(path: Path, error: duckdb.Error) -> MaterializerError:
    """Return the error for a failed open, usually because of a lock."""
    if "lock" in str(error).lower():
        return MaterializerError(
            f"another process holds {path}: stop the other `sager materialize`, or close the DuckDB client that has "
            f"this file open (analysts open the published snapshot instead). DuckDB says: {error}"
        )
    return _damage(path, error) or MaterializerError(
        f"cannot open {path}: check its owner and the version of DuckDB. DuckDB says: {error}"
    )


def _damage(path: Path, error: duckdb.Error) -> Damaged | None:
    text = str(error)
    is_damaged = any(sign in text for sign in _DAMAGE) and not any(shortage in text for shortage in _NO_DAMAGE)
    return Damaged(f"{path} is damaged (DuckDB: {text.splitlines()[0]})") if is_damaged else None
