"""Views and macros that answer analysts' questions: one SQL file each, whose first comment is stored with it.

The comments of the views' columns are in `columns.toml`, since columns repeat from view to view.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VIEWS = (
    "judgements",
    "policy_log",
    "learning_curve",
    "arm_results",
    "llm_calls",
    "tier_flow",
    "skill_change_rates",
    "attribute_adoption",
    "slim_skill_tokens",
    "cold_start_age",
    "line_value",
    "learned_weights",
    "signals",
    "abstention_rate",
    "corrections_understood",
    "shifts",
    "statements_now",
    "questions_asked",
    "calibration",
    "said_of_themselves",
    "card_activity",
)
"""In the order of their creation: a view may use those before it."""
MACROS = (
    "policy_at",
    "policies_at",
    "changed_since",
    "attribute_drift",
    "why",
    "stopped_helping",
    "cohort_before_after",
    "cost_per_point",
    "statements_at",
)
"""In the order of their creation; all are table macros: FROM policy_at('ann', '2026-01-31')."""


class Query(NamedTuple):
    """A view or macro: its comment for analysts, and the statement that creates it."""

    name: str
    kind: str
    comment: str
    sql: str


SHARED = "shared"
"""The table of `columns.toml` whose comments apply to every view."""


@cache
def column_comments() -> Mapping[str, Mapping[str, str]]:
    """Comments of columns by view; those of `SHARED` apply where a view has none of its own."""
    return tomllib.loads(files(__package__).joinpath("columns.toml").read_text(encoding="utf-8"))


@cache
def queries() -> tuple[Query, ...]:
    """All views and macros, in the order of their creation."""
    return (*(_read("VIEW", name) for name in VIEWS), *(_read("MACRO TABLE", name) for name in MACROS))


def statements() -> Iterator[str]:
    """The statements that create and comment all views and macros, in order."""
    for query in queries():
        yield query.sql
        yield f"COMMENT ON {query.kind} {query.name} IS {quoted(query.comment)}"


@cache
def derivation(table: str) -> str:
    """The statement that computes a derived table for the users in stale_users."""
    return files(__package__).joinpath("derived", f"{table}.sql").read_text(encoding="utf-8")


@cache
def fingerprint(*derived: str) -> str:
    """A fingerprint that changes with any view, macro, comment or one of these derivations."""
    text = [*statements(), *map(derivation, derived), repr(column_comments())]
    return sha256("\n".join(text).encode()).hexdigest()[:16]


def replace(con: "DuckDBPyConnection") -> None:
    """Drops all views and macros of the file and creates the current ones."""
    views = con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    macros = con.execute("SELECT function_name FROM duckdb_functions() WHERE NOT internal").fetchall()
    for kind, found in (("VIEW", views), ("MACRO TABLE", macros)):
        for (name,) in found:
            con.execute(f'DROP {kind} "{name}"')
    for statement in statements():
        con.execute(statement)
    _comment_columns(con)


def _comment_columns(con: "DuckDBPyConnection") -> None:
    """Comment the columns of every view; DuckDB takes them only once the views are there."""
    columns = (
        "SELECT view_name, column_name FROM duckdb_columns() c JOIN duckdb_views() v ON c.table_oid = v.view_oid "
        "AND c.database_name = v.database_name WHERE NOT v.internal"
    )
    comments = column_comments()
    for view, column in con.execute(columns).fetchall():
        comment = {**comments[SHARED], **comments.get(view, {})}.get(column)
        if comment is not None:
            con.execute(f'COMMENT ON COLUMN {view}."{column}" IS {quoted(comment)}')


def quoted(words: str) -> str:
    """The words as an SQL literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + words.replace("'", "''") + "'"


def _read(kind: str, name: str) -> Query:
    folder = "views" if kind == "VIEW" else "macros"
    text = files(__package__).joinpath(folder, f"{name}.sql").read_text(encoding="utf-8")
    lines = text.splitlines()
    end = next(n for n, line in enumerate(lines) if not line.startswith("--"))
    comment = " ".join(line.removeprefix("--").strip() for line in lines[:end])
    return Query(name, kind, comment, "\n".join(lines[end:]))
