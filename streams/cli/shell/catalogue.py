"""What a snapshot offers to ask, as `sager sql --list` prints it and the prompt completes it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LISTED = """
    SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() WHERE database_name = 'snapshot'
    UNION ALL
    SELECT view_name, 'view', comment FROM duckdb_views() WHERE database_name = 'snapshot' AND NOT internal
    UNION ALL
    SELECT function_name || '(' || list_aggregate(parameters, 'string_agg', ', ') || ')', 'macro', comment
    FROM duckdb_functions() WHERE database_name = 'snapshot' AND NOT internal
    ORDER BY kind = 'table', kind = 'view', name
"""
DESCRIBED = """
    SELECT column_name AS column, data_type AS type, comment FROM duckdb_columns()
    WHERE database_name = 'snapshot' AND table_name = $1 ORDER BY column_index
"""
COLUMNS = """
    SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
    WHERE database_name = 'snapshot' ORDER BY table_name, column_index
"""
_SOURCE = re.compile(
    r"\b(?:from|join)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?|,\s*(\w+)\s+(\w+)\b",
    re.IGNORECASE,
)
"""A table of a query, with the name that the query gives it."""


@dataclass(frozen=True)
class Named:
    """A table, view, macro or column: its name, what it is, and its comment on one line."""

    name: str
    kind: str
    comment: str

    @property
    def bare(self) -> str:
        """Without a macro's parameters."""
        return self.name.partition("(")[0]


@dataclass(frozen=True)
class Catalogue:
    """All of a snapshot's tables, views and macros, and the columns of the first two."""

    offers: Sequence[Named] = ()
    columns: Mapping[str, Sequence[Named]] = field(default_factory=dict)

    def find(self, name: str) -> Named | None:
        """The table, view or macro of that name, whatever its case; None if there is none."""
        return next((each for each in self.offers if each.bare == name.lower().partition("(")[0]), None)

    def sources(self, query: str) -> dict[str, str]:
        """The tables and views that a query names, by the names that it has for them.

        >>> Catalogue(columns={"skills": ()}).sources("SELECT s. FROM skills s")
        {'s': 'skills', 'skills': 'skills'}
        """
        found: dict[str, str] = {}
        for one, alias, other, its_alias in _SOURCE.findall(query):
            name = (one or other).lower()
            if name in self.columns:
                found.update({each: name for each in ((alias or its_alias).lower(), name) if each})
        return found


def catalogue(offers: Iterable[Sequence[Any]], columns: Iterable[Sequence[Any]]) -> Catalogue:
    """A catalogue of the rows that `LISTED` and `COLUMNS` answer with."""
    by_table: dict[str, list[Named]] = {}
    for table, name, kind, comment in columns:
        by_table.setdefault(table, []).append(Named(name, kind, _line(comment)))
    return Catalogue([Named(name, kind, _line(comment)) for name, kind, comment in offers], by_table)


def _line(comment: str | None) -> str:
    return " ".join((comment or "").split())
