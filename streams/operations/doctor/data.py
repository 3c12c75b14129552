"""Check the DuckDB file and the data folder."""

import os
import shutil
import time
from collections.abc import Iterator

import duckdb

from streams.exceptions import StreamsError
from streams.materializer import read, schema
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings

LOW_BYTES, NO_BYTES = 1024**3, 100 * 1024**2


def snapshot(settings: Settings) -> Iterator[Finding]:
    """Check that analysts can read their file, and that it is of this deployment."""
    path = settings.duckdb_file
    if not path.exists():
        yield warning("DuckDB", f"there is no {path}", "start `sager materialize`; SAGER_DUCKDB, if it is elsewhere")
        return
    try:
        with read.connect(settings) as con:
            [(layout,)] = con.execute("SELECT schema_version FROM meta").fetchall()
            [(published, records)] = con.execute("SELECT epoch(published_at), records FROM snapshot_info").fetchall()
    except (StreamsError, duckdb.Error, ValueError) as failed:
        yield error("DuckDB", f"{failed}", "move it away: `sager materialize` publishes it again")
        return
    found = f"{path}: layout {layout}, {records:,} records, published {time.time() - published:,.0f} s ago"
    if layout == schema.LAYOUT_VERSION:
        yield ok("DuckDB", found)
    else:
        yield error("DuckDB", found, "`sager rebuild --duckdb` makes a new file from the topics")


def folder(settings: Settings) -> Iterator[Finding]:
    """Check that the data folder is writable, and the free space on its disk."""
    path = settings.data_dir.absolute()
    nearest = next(each for each in (path, *path.parents) if each.exists())
    free = shutil.disk_usage(nearest).free
    found = f"{path}: {free / 1024**3:,.1f} GiB free"
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield error("data folder", f"{nearest} is not writable", "set SAGER_DATA_DIR to a writable folder")
    elif free < LOW_BYTES:
        make = error if free < NO_BYTES else warning
        yield make("data folder", found, "make room: a snapshot needs as much space as the live file")
    else:
        yield ok("data folder", found)
