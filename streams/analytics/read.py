"""Reads the published snapshot; the live file belongs to its writer."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from streams.analytics import MaterializerError
from streams.analytics.schema import sql_literal
from streams.settings import Settings

if TYPE_CHECKING:
    from schemas import Card, CardDiff, ItemFacts, PolicySkill, SkillDiff

# Suffixes of DuckDB's write-ahead logs.
LOG_SUFFIXES = (".wal", ".wal.recovery", ".wal.checkpoint")

# Settings of a connection that opens no file but its snapshot; DuckDB does not revert them.
CONFINED = (
    "enable_external_access = false",
    # `enable_external_access` still allows the attached file and its .wal; this setting allows no file. The attached
    # file is open already.
    "disabled_filesystems = 'LocalFileSystem'",
    "python_enable_replacements = false",
)


def connect(settings: Settings) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to the newest snapshot.

    Raises MaterializerError if there is none, it belongs to another tenant, or a write-ahead log lies beside it.
    """
    path = settings.duckdb_file
    if not path.exists():
        raise MaterializerError(
            f"there is no snapshot {path} yet. Run `sager materialize` (or `sager up`), which publishes one at its "
            "start; if it runs elsewhere, set SAGER_DATA_DIR or SAGER_DUCKDB to its file"
        )
    _refuse_stray_logs(path)
    # Attached, not opened: DuckDB would reuse a database that this process has open under this path, although a newer
    # file has replaced it. The empty temp_directory prevents spilling rows of users.
    con = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false", "temp_directory": ""})
    try:
        con.execute(f"ATTACH {sql_literal(str(path))} AS snapshot (READ_ONLY)")
        _refuse_stray_logs(path)  # again: a log may have appeared during ATTACH
        con.execute("USE snapshot")
        con.execute("SET GLOBAL TimeZone = 'UTC'")  # as the columns: `now()` is compared with them
        # A view in a forged snapshot would run with the rights of its reader.
        for setting in CONFINED:
            con.execute(f"SET {setting}")
        [(found,)] = con.execute("SELECT prefix FROM meta").fetchall()
        if found != settings.prefix:
            raise MaterializerError(
                f"{path} belongs to the prefix {found!r}, not {settings.prefix!r}: set SAGER_PREFIX to that, or "
                "SAGER_DATA_DIR or SAGER_DUCKDB to this deployment's own file"
            )
    except duckdb.Error as error:
        con.close()
        raise MaterializerError(f"cannot read {path}. Is it a published snapshot? DuckDB says: {error}") from error
    except BaseException:
        con.close()
        raise
    return con


def _refuse_stray_logs(path: Path) -> None:
    for stray in stray_logs(path):
        raise MaterializerError(
            f"{stray} lies beside the snapshot {path}, and DuckDB would apply its content, so nothing is read. "
            "A program that opened the snapshot for writing, or an attacker, left it. A running `sager materialize` "
            "removes it within seconds; without one, delete it"
        )


def stray_logs(path: Path) -> list[Path]:
    """Return files that DuckDB would apply as the snapshot's write-ahead log."""
    # DuckDB resolves links first: the log of a linked snapshot lies beside the file itself.
    places = dict.fromkeys((path.absolute(), path.resolve()))
    found = [place.with_name(place.name + ending) for place in places for ending in LOG_SUFFIXES]
    return [each for each in found if os.path.lexists(each)]


# The macros, views and tables of a snapshot: name, kind and comment.
NAMES = """
    SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() WHERE database_name = 'snapshot'
    UNION ALL
    SELECT view_name, 'view', comment FROM duckdb_views() WHERE database_name = 'snapshot' AND NOT internal
    UNION ALL
    SELECT function_name || '(' || list_aggregate(parameters, 'string_agg', ', ') || ')', 'macro', comment
    FROM duckdb_functions() WHERE database_name = 'snapshot' AND NOT internal
    ORDER BY kind = 'table', kind = 'view', name
"""


def restrict(con: duckdb.DuckDBPyConnection, seconds: float, memory_bytes: int) -> None:
    """Restrict a connection further, for statements of users.

    `seconds` limits one statement, `memory_bytes` the memory that DuckDB accounts for. Some functions exceed both.
    """
    for setting in (
        f"memory_limit = '{memory_bytes}B'",
        "max_temp_directory_size = '0B'",
        f"max_execution_time = {max(1, int(seconds * 1000))}",
        "lock_configuration = true",
    ):
        con.execute(f"SET {setting}")


def skill(con: duckdb.DuckDBPyConnection, user: str, domain: str | None = None) -> "list[PolicySkill]":
    """Return the user's current skills, or that of one domain."""
    return _documents(con, "skills", "AND domain = coalesce($2, domain) ORDER BY domain", user, domain)


def diffs(con: duckdb.DuckDBPyConnection, user: str, domain: str | None = None) -> "list[SkillDiff]":
    """Return the user's diffs in order; they fold into `skill`."""
    return _documents(con, "skill-diffs", "AND domain = coalesce($2, domain) ORDER BY domain, version", user, domain)


def card(con: duckdb.DuckDBPyConnection, user: str) -> "Card | None":
    """Return the user's card, if any."""
    return next(iter(_documents(con, "cards", "", user)), None)


def card_diffs(con: duckdb.DuckDBPyConnection, user: str) -> "list[CardDiff]":
    """Return the user's card diffs in order; they fold into `card`."""
    return _documents(con, "card-diffs", "ORDER BY version", user)


def _documents(con: duckdb.DuckDBPyConnection, base: str, which: str, user: str, *more: str | None) -> list[Any]:
    from schemas import TOPICS, decode  # noqa: PLC0415 - `sager sql` starts without the models

    query = f"SELECT document FROM {base.replace('-', '_')} WHERE user_id = $1 {which}"
    return [decode(TOPICS[base].model, text.encode()) for (text,) in con.execute(query, [user, *more]).fetchall()]


def versions_at(con: duckdb.DuckDBPyConnection, user: str, moment: datetime) -> dict[str, int]:
    """Return the user's skill versions by domain at a moment (naive UTC)."""
    where = "user_id = $1 AND valid_from <= $2 AND (valid_to > $2 OR valid_to IS NULL)"
    return dict(con.execute(f"SELECT domain, version FROM skill_versions WHERE {where}", [user, moment]).fetchall())


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
    """Return titles by item, from the catalogue or the user's newest event."""
    return dict(con.execute(_TITLES, [user, list(items)]).fetchall())


@dataclass(frozen=True)
class EvidenceChoice:
    """The choice behind a piece of evidence.

    `place` is the rank of the item, 1 the top. `taken` holds item ids, the chosen one first; `shown` holds them in the
    ranking's order, and `reasons` a ranking model's words by item id. Without the ranking in the snapshot, `shown` is
    the contrast's and `ranked_by` None.
    """

    title: str
    ranking_id: str
    place: int
    taken: list[str]
    shown: list[str]
    instruction: str
    ranked_by: str | None
    skill_version: int | None
    reasons: dict[str, str] = field(default_factory=dict)


_CHOICES = """
SELECT k.event_id, coalesce(nullif(k.chosen_title, ''), i.title, ''), k.ranking_id, k.chosen_rank,
       [k.chosen_item_id] || k.also_item_ids,
       coalesce(r.item_ids, [k.chosen_item_id] || k.also_item_ids || k.unchosen_item_ids),
       coalesce(k.instruction, ''), r.ranked_by, coalesce(r.skill_version, k.skill_version),
       coalesce(from_json(r.injected::JSON -> '$.reasons', '"MAP(VARCHAR, VARCHAR)"'), MAP {})
FROM contrasts k
LEFT JOIN rankings r ON r.user_id = k.user_id AND r.ranking_id = k.ranking_id
LEFT JOIN items i ON i.item_id = k.chosen_item_id
WHERE k.user_id = $1 AND k.event_id IN (SELECT unnest($2))
"""


def choices(con: duckdb.DuckDBPyConnection, user: str, events: Sequence[str]) -> dict[str, EvidenceChoice]:
    """Return the choices behind these events that the snapshot has, by event."""
    return {event: EvidenceChoice(*row) for event, *row in con.execute(_CHOICES, [user, list(events)]).fetchall()}


_LISTS = (
    "SELECT event_id, items FROM contrasts WHERE user_id = $1 AND event_id IN (SELECT unnest($2)) AND items IS NOT NULL"
)


def lists(con: duckdb.DuckDBPyConnection, user: str, events: Sequence[str]) -> "dict[str, list[ItemFacts]]":
    """Return the items of the lists of these choices, taken ones first, by event."""
    from schemas import ItemFacts  # noqa: PLC0415 - `sager sql` starts without the models

    def item(found: dict[str, Any]) -> ItemFacts:
        facts = [[fact["dimension"], fact["value"]] for fact in found["facts"]]
        return ItemFacts.model_validate(found | {"facts": facts})

    rows = con.execute(_LISTS, [user, list(events)]).fetchall()
    return {event: list(map(item, items)) for event, items in rows}


def count_interactions(con: duckdb.DuckDBPyConnection, user: str, domain: str, until: datetime) -> int:
    """Return the number of interactions until a moment."""
    query = "SELECT count(*) FROM interactions WHERE user_id = $1 AND domain = $2 AND occurred_at <= $3"
    [(found,)] = con.execute(query, [user, domain, until]).fetchall()
    return int(found)
