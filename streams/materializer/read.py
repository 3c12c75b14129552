"""Reads the published snapshot, for the CLI and the console. Never the live file, which belongs to its writer."""

from collections.abc import Sequence
from datetime import datetime

import duckdb

from schemas import PolicySkill, SkillDiff, decode
from streams.materializer.analytics import quoted
from streams.materializer.exceptions import AnotherDeployment, MaterializerError
from streams.settings import Settings

MEMORY = "2GB"
"""Memory limit for a query of `sager sql`; nothing is spilled to disk."""


def connect(settings: Settings) -> duckdb.DuckDBPyConnection:
    """A read-only connection to the newest snapshot; it does not change when a newer one is published.

    Raises:
        MaterializerError: there is no snapshot yet; AnotherDeployment: it is another tenant's.
    """
    path = settings.duckdb_file
    if not path.exists():
        raise MaterializerError(
            f"there is no snapshot {path} yet. Run `sager materialize` (or `sager up`), which publishes one at its "
            "start; if it runs elsewhere, set SAGER_DATA_DIR or SAGER_DUCKDB to its file"
        )
    # Attached, not opened: DuckDB would reuse the database that this process has open under this path, although
    # a newer file has replaced it since.
    con = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    try:
        con.execute(f"ATTACH {quoted(str(path))} AS snapshot (READ_ONLY)")
        con.execute("USE snapshot")
        [(found,)] = con.execute("SELECT prefix FROM meta").fetchall()
    except duckdb.Error as error:
        con.close()
        raise MaterializerError(f"cannot read {path}. Is it a published snapshot? DuckDB says: {error}") from error
    if found != settings.prefix:
        con.close()
        raise AnotherDeployment(path, found, settings.prefix)
    return con


def connect_own(settings: Settings) -> duckdb.DuckDBPyConnection | None:
    """The same, for comparisons with the deployment's topics; None if there is no snapshot.

    Raises:
        MaterializerError: the snapshot belongs to another deployment, where the same ids are other people.
    """
    if not settings.duckdb_file.exists():
        return None
    con = connect(settings)
    [(prefix,)] = con.execute("SELECT prefix FROM meta").fetchall()
    if prefix != settings.prefix:
        con.close()
        raise MaterializerError(
            f"{settings.duckdb_file} belongs to the topic prefix {prefix!r}, not {settings.prefix!r}: set SAGER_PREFIX "
            "or SAGER_DATA_DIR as for this deployment"
        )
    return con


def restrict(con: duckdb.DuckDBPyConnection, seconds: float) -> None:
    """Restricts the connection to its snapshot: no files, no settings, no endless queries.

    Args:
        con: a connection of `connect`.
        seconds: time limit for one statement.
    """
    for setting in (
        "enable_external_access = false",
        "python_enable_replacements = false",
        "enable_progress_bar = false",
        f"memory_limit = '{MEMORY}'",
        "max_temp_directory_size = '0B'",
        f"max_execution_time = {max(1, int(seconds * 1000))}",
        "lock_configuration = true",
    ):
        con.execute(f"SET {setting}")


def skill(con: duckdb.DuckDBPyConnection, user: str, domain: str | None = None) -> list[PolicySkill]:
    """The user's current skills, ordered by domain; only one domain's if named."""
    query = "SELECT document FROM skills WHERE user_id = $1 AND domain = coalesce($2, domain) ORDER BY domain"
    return [decode(PolicySkill, text.encode()) for (text,) in con.execute(query, [user, domain]).fetchall()]


def diffs(con: duckdb.DuckDBPyConnection, user: str, domain: str | None = None) -> list[SkillDiff]:
    """The user's diffs, ordered by domain and version; they fold into `skill`."""
    query = (
        "SELECT document FROM skill_diffs WHERE user_id = $1 AND domain = coalesce($2, domain) ORDER BY domain, version"
    )
    return [decode(SkillDiff, text.encode()) for (text,) in con.execute(query, [user, domain]).fetchall()]


def versions_at(con: duckdb.DuckDBPyConnection, user: str, moment: datetime) -> dict[str, int]:
    """The versions of the user's skills in force at a moment (naive, in UTC), by domain."""
    query = (
        "SELECT domain, version FROM skill_versions "
        "WHERE user_id = $1 AND valid_from <= $2 AND (valid_to > $2 OR valid_to IS NULL)"
    )
    return dict(con.execute(query, [user, moment]).fetchall())


def prices(con: duckdb.DuckDBPyConnection) -> tuple[float, float]:
    """US dollars per million prompt and completion tokens, as configured at the materializer's last start."""
    [(prompt, completion)] = con.execute("SELECT llm_price_prompt, llm_price_completion FROM meta").fetchall()
    return prompt or 0.0, completion or 0.0


def titles(con: duckdb.DuckDBPyConnection, items: Sequence[str]) -> dict[str, str]:
    """The titles of these items, as far as the catalogue has them."""
    query = "SELECT item_id, title FROM items WHERE item_id IN (SELECT unnest($1)) AND title <> ''"
    return dict(con.execute(query, [list(items)]).fetchall())
