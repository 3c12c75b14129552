"""Opens the live file, and replaces a damaged one with the rows of the published snapshot."""

import logging
from pathlib import Path

import duckdb

from streams.materializer import read
from streams.materializer.exceptions import Damaged, MaterializerError
from streams.materializer.files import cannot_open, copy_rows, open_for_writing, remove_database
from streams.materializer.schema import quoted
from streams.materializer.store import Store
from streams.settings import Settings

log = logging.getLogger(__name__)


def live_file(settings: Settings) -> Path:
    """Return the path of the live DuckDB file."""
    return settings.data_dir / "live.duckdb"


def open_store(settings: Settings) -> Store:
    """Open the live file; replace it first if it is damaged.

    Raises:
        MaterializerError: another process holds the file, or it is not a file of this deployment.
    """
    path = live_file(settings)
    try:
        return Store(path, settings.prefix)
    except Damaged as error:
        replace(settings, error)
    return Store(path, settings.prefix)


def replace(settings: Settings, damage: Damaged) -> None:
    """Remove the damaged live file, and fill a new one from the snapshot if that can be read.

    The damaged file is not kept: an erasure could not reach the rows in it. Kafka has the later records, and all that
    it still holds where there is no snapshot.
    """
    path = live_file(settings)
    remove_database(path)
    try:
        read.connect(settings).close()  # refuses the snapshot of another deployment, or one with a log beside it
        with open_for_writing(path) as con:
            con.execute(f"ATTACH {quoted(str(settings.duckdb_file))} AS source (READ_ONLY)")
            copy_rows(con, "source", "live")
        source = str(settings.duckdb_file)
    except (MaterializerError, duckdb.Error) as error:
        remove_database(path)
        source = f"Kafka alone (no snapshot: {error})" if settings.duckdb_file.exists() else "Kafka alone"
    log.error("%s; the file was removed and is filled again from %s", damage, source)


def remove(settings: Settings) -> None:
    """Remove the live file, so that the materializer fills a new one from the topics.

    Raises:
        MaterializerError: another process holds the file.
    """
    path = live_file(settings)
    try:
        open_for_writing(path).close()
    except duckdb.Error as error:
        if "lock" in str(error).lower():
            raise cannot_open(path, error) from error
    remove_database(path)
