"""Reads the published snapshot, for the CLI and the console. Never the live file, which belongs to its writer."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from streams.materializer.exceptions import AnotherDeployment, MaterializerError, StrayLog
from streams.materializer.schema import quoted
from streams.settings import Settings

if TYPE_CHECKING:
    from schemas import Card, CardDiff, Model, PolicySkill, SkillDiff

    M = TypeVar("M", bound=Model)

MEMORY = "2GB"
"""Memory limit for a query of the HTTP API; nothing is spilled to disk."""

LOGS = (".wal", ".wal.recovery", ".wal.checkpoint")
"""DuckDB's names of a database's write-ahead log, after the database's own name."""

CONFINED = (
    "enable_external_access = false",
    # The lists of `enable_external_access` let the attached file and its .wal through; this lets nothing through. The
    # attached file itself is open already.
    "disabled_filesystems = 'LocalFileSystem'",
    "python_enable_replacements = false",
)
"""Settings of a connection that opens no file but its snapshot. DuckDB takes none of them back."""


def connect(settings: Settings, *, files: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to the newest snapshot; it does not change when a newer one is published.

    Args:
        settings: the file's path and the deployment that it must belong to.
        files: true if it may open further files, as an export must, which then calls `confine`; otherwise no statement
            can.

    Raises:
        MaterializerError: there is no snapshot yet; StrayLog: a write-ahead log lies beside it; AnotherDeployment: it
            is another tenant's.
    """
    path = settings.duckdb_file
    if not path.exists():
        raise MaterializerError(
            f"there is no snapshot {path} yet. Run `sager materialize` (or `sager up`), which publishes one at its "
            "start; if it runs elsewhere, set SAGER_DATA_DIR or SAGER_DUCKDB to its file"
        )
    refuse_strays(path)
    if files:
        connect(settings).close()
    # Attached, not opened: DuckDB would reuse the database that this process has open under this path, although
    # a newer file has replaced it since. An empty temp_directory: rows of people are spilled nowhere.
    con = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false", "temp_directory": ""})
    try:
        con.execute(f"ATTACH {quoted(str(path))} AS snapshot (READ_ONLY)")
        refuse_strays(path)  # once more: one could have come while DuckDB looked for it
        con.execute("USE snapshot")
        for setting in () if files else CONFINED:
            con.execute(f"SET {setting}")
        # With files open, nothing of the snapshot is read before `confine`: the other connection has read its prefix.
        [(found,)] = [(settings.prefix,)] if files else con.execute("SELECT prefix FROM meta").fetchall()
        if found != settings.prefix:
            raise AnotherDeployment(path, found, settings.prefix)
    except duckdb.Error as error:
        con.close()
        raise MaterializerError(f"cannot read {path}. Is it a published snapshot? DuckDB says: {error}") from error
    except BaseException:
        con.close()
        raise
    return con


def confine(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Restrict a connection of `connect` with `files` to the snapshot and one folder, where it also spills.

    A view or a macro in a forged snapshot runs with the rights of its reader.
    """
    for setting in (
        f"temp_directory = {quoted(str(folder / '.spill'))}",
        f"allowed_directories = [{quoted(str(folder))}]",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "lock_configuration = true",
    ):
        con.execute(f"SET {setting}")


def refuse_strays(path: Path) -> None:
    """Refuse a snapshot with a write-ahead log beside it: DuckDB would replay it, whoever wrote it.

    Raises:
        StrayLog: there is one.
    """
    for stray in strays(path):
        raise StrayLog(path, stray)


def strays(path: Path) -> list[Path]:
    """Return the files beside a snapshot that DuckDB would take for its write-ahead log; a published one has none."""
    # DuckDB resolves links first: the log of a linked snapshot lies beside the file itself.
    places = dict.fromkeys((path.absolute(), path.resolve()))
    found = [place.with_name(place.name + ending) for place in places for ending in LOGS]
    return [each for each in found if os.path.lexists(each)]


def connect_own(settings: Settings, *, files: bool = False) -> duckdb.DuckDBPyConnection | None:
    """Return the same, for comparisons with the deployment's topics; None if there is no snapshot.

    Raises:
        AnotherDeployment: the snapshot belongs to another, where the same ids are other people.
    """
    return connect(settings, files=files) if settings.duckdb_file.exists() else None


def restrict(con: duckdb.DuckDBPyConnection, seconds: float, memory_bytes: int) -> None:
    """Restrict a connection of `connect` further, for statements that people write.

    Args:
        con: the connection.
        seconds: time limit for one statement. Some functions ignore it.
        memory_bytes: limit of the memory that DuckDB accounts for. Some functions allocate more.
    """
    for setting in (
        "enable_progress_bar = true",  # so that `query_progress` has a value
        "enable_progress_bar_print = false",
        f"memory_limit = '{memory_bytes}B'",
        "max_temp_directory_size = '0B'",
        f"max_execution_time = {max(1, int(seconds * 1000))}",
        "lock_configuration = true",
    ):
        con.execute(f"SET {setting}")


def skill(con: duckdb.DuckDBPyConnection, user: str, domain: str | None = None) -> "list[PolicySkill]":
    """Return the user's current skills, ordered by domain; only one domain's if named."""
    from schemas import PolicySkill  # noqa: PLC0415 - `sager sql` starts without the models

    where = "skills WHERE user_id = $1 AND domain = coalesce($2, domain) ORDER BY domain"
    return _documents(con, PolicySkill, where, user, domain)


def diffs(con: duckdb.DuckDBPyConnection, user: str, domain: str | None = None) -> "list[SkillDiff]":
    """Return the user's diffs, ordered by domain and version; they fold into `skill`."""
    from schemas import SkillDiff  # noqa: PLC0415

    where = "skill_diffs WHERE user_id = $1 AND domain = coalesce($2, domain) ORDER BY domain, version"
    return _documents(con, SkillDiff, where, user, domain)


def card(con: duckdb.DuckDBPyConnection, user: str) -> "Card | None":
    """Return the user's card; None if there is none."""
    from schemas import Card  # noqa: PLC0415

    return next(iter(_documents(con, Card, "cards WHERE user_id = $1", user)), None)


def card_diffs(con: duckdb.DuckDBPyConnection, user: str) -> "list[CardDiff]":
    """Return the versions of the user's card, in order; they fold into `card`."""
    from schemas import CardDiff  # noqa: PLC0415

    return _documents(con, CardDiff, "card_diffs WHERE user_id = $1 ORDER BY version", user)


def _documents(con: duckdb.DuckDBPyConnection, model: "type[M]", where: str, *values: str | None) -> "list[M]":
    from schemas import decode  # noqa: PLC0415

    rows = con.execute(f"SELECT document FROM {where}", list(values)).fetchall()
    return [decode(model, text.encode()) for (text,) in rows]


def versions_at(con: duckdb.DuckDBPyConnection, user: str, moment: datetime) -> dict[str, int]:
    """Return the versions of the user's skills in force at a moment (naive, in UTC), by domain."""
    query = (
        "SELECT domain, version FROM skill_versions "
        "WHERE user_id = $1 AND valid_from <= $2 AND (valid_to > $2 OR valid_to IS NULL)"
    )
    return dict(con.execute(query, [user, moment]).fetchall())


def prices(con: duckdb.DuckDBPyConnection) -> tuple[float, float]:
    """Return US dollars per million prompt and completion tokens, as configured at the materializer's last start."""
    [(prompt, completion)] = con.execute("SELECT llm_price_prompt, llm_price_completion FROM meta").fetchall()
    return prompt or 0.0, completion or 0.0


_TITLES = """
WITH named AS (
    SELECT item_id, title, 1 AS trust, occurred_at FROM items
    UNION ALL SELECT item_id, title, 0, occurred_at FROM feedback WHERE user_id = $1
    UNION ALL SELECT chosen_item_id, chosen_title, 0, occurred_at FROM contrasts WHERE user_id = $1
    UNION ALL SELECT item_id, title, 0, occurred_at FROM interactions WHERE user_id = $1
)
SELECT item_id, arg_max(title, (trust, occurred_at)) FROM named
WHERE item_id IN (SELECT unnest($2)) AND title <> '' GROUP BY item_id
"""


def titles(con: duckdb.DuckDBPyConnection, user: str, items: Sequence[str]) -> dict[str, str]:
    """Return titles by item: the catalogue's, else the newest in this user's own events.

    An app may send no catalogue. Events of other users name no title here: they are not this user's data.
    """
    return dict(con.execute(_TITLES, [user, list(items)]).fetchall())
