"""Check the DuckDB file."""

import time
from collections.abc import Iterator

import duckdb

from streams.exceptions import StreamsError
from streams.materializer import read, schema
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings


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
