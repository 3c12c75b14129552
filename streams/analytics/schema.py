"""Tables, views and macros of the DuckDB file, from SQL files.

The comment above a CREATE statement is stored in the database. Comments of columns are in `columns.toml`, because
columns repeat from table to table.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

import duckdb

# Incremented when a table changes: `sager rebuild --duckdb` replaces a file of another layout.
LAYOUT_VERSION = 1


class Keep(Enum):
    """Which of two rows with the same key is kept."""

    # Events: a second one is a duplicate, from a producer's retry or a topic that is read again.
    FIRST = "first"
    # Compacted topics without a version: the later record wins, as in Kafka's compaction.
    LAST = "last"
    # Compacted topics with a version: an older version never overwrites a newer one, an equal one does.
    NEWEST = "newest"


# The rule and the child tables of each public topic's table. Child rows are written and deleted with their parent.
_TOPIC_RULES: dict[str, tuple[Keep, tuple[str, ...]]] = {
    "items": (Keep.LAST, ()),
    "interactions": (Keep.FIRST, ()),
    "rank_requests": (Keep.FIRST, ()),
    "rankings": (Keep.FIRST, ("ranking_facets", "ranking_calls")),
    "selections": (Keep.FIRST, ()),
    "feedback": (Keep.FIRST, ()),
    "corrections": (Keep.FIRST, ()),
    "abstentions": (Keep.FIRST, ()),
    "contrasts": (Keep.FIRST, ()),
    "skill_diffs": (Keep.FIRST, ("skill_changes", "skill_refusals", "statement_changes")),
    "skills": (Keep.NEWEST, ("skill_attributes", "statements")),
    "slim_skills": (Keep.NEWEST, ()),
    "skill_commands": (Keep.FIRST, ()),
    "card_diffs": (Keep.LAST, ("card_changes", "card_receipts")),
    "cards": (Keep.NEWEST, ("card_lines",)),
    "receipts": (Keep.LAST, ()),
    "global_skills": (Keep.LAST, ()),
    "dead_letters": (Keep.FIRST, ()),
    "weights": (Keep.LAST, ()),
}
# The table of each public topic, by its base name.
TOPIC_TABLES = {name.replace("_", "-"): name for name in _TOPIC_RULES}
# Tables derived at each publication, in this order, as later ones read earlier ones.
DERIVED = ("skill_versions", "skill_history", "outcomes")
# The tables that they are derived from.
SOURCES = frozenset({"rankings", "selections", "skill_diffs"})


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """One table with its Arrow schema and child tables.

    `key` has the columns that identify a row, or in a child table its parent's row.
    """

    name: str
    key: tuple[str, ...]
    arrow: Any
    keep: Keep
    children: tuple["Table", ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.arrow.names)

    @property
    def version(self) -> str:
        """The column that `Keep.NEWEST` compares."""
        return "skill_version" if "skill_version" in self.names else "version"


class CreateStatement(NamedTuple):
    """A CREATE statement with its comment."""

    kind: str
    name: str
    comment: str
    sql: str


_CREATE = re.compile(
    r"(?P<comment>(?:^-- .*\n)+)(?P<sql>CREATE (?P<kind>TABLE|VIEW|MACRO) (?P<name>\w+)[^;]*);", re.MULTILINE
)


def _text(name: str) -> str:
    return files(__package__).joinpath("sql", name).read_text(encoding="utf-8")


@cache
def statements(file: str) -> tuple[CreateStatement, ...]:
    """Return the CREATE statements of `schema` or `queries`, in execution order."""
    return tuple(
        CreateStatement(each["kind"], each["name"], each["comment"].replace("\n-- ", " ")[3:].strip(), each["sql"])
        for each in _CREATE.finditer(_text(f"{file}.sql"))
    )


@cache
def derivations() -> tuple[str, ...]:
    """Return the statements that fill derived tables for `stale_users`."""
    return tuple(_text("derived.sql").rstrip().removesuffix(";").split(";\n"))


@cache
def column_comments() -> tuple[Mapping[str, str], Mapping[tuple[str, str], str]]:
    """Return comments by column, and exceptions by table or view and column."""
    found = tomllib.loads(_text("columns.toml"))
    named = ((key.rpartition("."), comment) for key, comment in found["exceptions"].items())
    return found["shared"], {(table, column): c for (tables, _, column), c in named for table in tables.split()}


@cache
def all_tables() -> Mapping[str, Table]:
    """Return every table by name."""
    names = [each.name for each in statements("schema")]
    with duckdb.connect() as con:
        create_tables(con)
        query = "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type ^@ 'PRIM'"
        keys = {name: tuple(columns) for name, columns in con.execute(query).fetchall()}
        arrow = {name: con.table(name).to_arrow_table().schema for name in names}
    parents = {child: parent for parent, (_, children) in _TOPIC_RULES.items() for child in children}
    found: dict[str, Table] = {}
    for name in reversed(names):  # children are defined after their parents
        keep, children = _TOPIC_RULES.get(name, (Keep.FIRST, ()))
        of_it = tuple(found[child] for child in children)
        found[name] = Table(name, keys.get(parents.get(name, name), ()), arrow[name], keep, of_it)
    return {name: found[name] for name in names}


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables with a topic; child tables belong to their parents."""
    return tuple(all_tables()[name] for name in _TOPIC_RULES)


def table_of(topic: str) -> Table:
    """Return the table of a public topic, by its base name."""
    return all_tables()[TOPIC_TABLES[topic]]


def fingerprint() -> str:
    """Return a digest that changes with any view, macro, derivation or comment."""
    return sha256("\n".join(map(_text, ("queries.sql", "derived.sql", "columns.toml"))).encode()).hexdigest()[:16]


def create_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Create all tables in an empty file."""
    for statement in statements("schema"):
        con.execute(statement.sql)


def create_queries(con: duckdb.DuckDBPyConnection) -> None:
    """Replace all views and macros, and write all comments."""
    ours = "NOT internal AND database_name = current_database()"
    existing = f"SELECT 'VIEW', view_name FROM duckdb_views() WHERE {ours} UNION ALL "
    existing += f"SELECT 'MACRO TABLE', function_name FROM duckdb_functions() WHERE {ours}"
    for kind, name in con.execute(existing).fetchall():
        con.execute(f'DROP {kind} "{name}"')
    for statement in statements("queries"):
        con.execute(statement.sql)
    for kind, name, comment, _ in (*statements("schema"), *statements("queries")):
        con.execute(f"COMMENT ON {'MACRO TABLE' if kind == 'MACRO' else kind} {name} IS {sql_literal(comment)}")
    shared, exceptions = column_comments()
    columns = f"SELECT table_name, column_name FROM duckdb_columns() WHERE {ours}"
    for table, column in con.execute(columns).fetchall():
        found = exceptions.get((table, column)) or shared.get(column)
        if found is not None:
            con.execute(f'COMMENT ON COLUMN {table}."{column}" IS {sql_literal(found)}')


def sql_literal(words: str) -> str:
    """Return a string as an SQL literal."""
    return "'" + words.replace("'", "''") + "'"
