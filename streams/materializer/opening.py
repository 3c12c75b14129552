"""Opens a file for writing, the way the live one is: its settings, its folder for spilled rows, its row groups."""

from pathlib import Path

import duckdb

from streams.materializer.analytics import quoted

Config = dict[str, str | bool | int | float | list[str]]
CONFIG: Config = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # DuckDB 1.5, today's command line, cannot read the default storage of 2.0.
    "storage_compatibility_version": "v1.5.0",
    "threads": "2",
    # Only a checkpoint changes blocks that the file's newest state is made of: never one by itself, during a copy.
    "checkpoint_threshold": "1TB",
}
ROW_GROUP = 32_768
"""A checkpoint rewrites a table's last row group, every second or so: with the default of 122,880 rows it takes twice
as long. Much smaller groups compress worse."""


def open_for_writing(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that has the file attached as `live`, and uses it."""
    con = duckdb.connect(config=config_of(path))
    try:
        con.execute(attach(path, "live"))
        con.execute("USE live")
    except BaseException:
        con.close()
        raise
    return con


def config_of(path: Path) -> Config:
    """DuckDB's settings for writing this file."""
    # Rows that do not fit into memory: not into the folder that the process happens to be started in.
    return {**CONFIG, "temp_directory": str(path.parent / "spill")}


def attach(path: Path, name: str) -> str:
    """The statement that attaches a file, which is made if it is not there, under this name."""
    return f"ATTACH {quoted(str(path))} AS {name} (ROW_GROUP_SIZE {ROW_GROUP})"
