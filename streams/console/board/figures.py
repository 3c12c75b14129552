"""The pages of figures: tables out of the snapshot, from which the browser draws charts.

`figures.sql` has the query of each figure, and `figures.html` its title, its explanation and its chart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from streams.console.formats import text
from streams.console.pages import Visit, page
from streams.http.problems import Problem
from streams.http.tokens import Scope

_SQL = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
QUERIES = dict(part.split("\n", 1) for part in _SQL.split("-- figure: ")[1:])
OF_A_DOMAIN = {
    "/learning": ("learning-curve", "cold-start"),
    "/lines": ("tier-flow", "adoption"),
    "/arms": ("arms",),
    "/calibration": ("calibration",),
}
OF_ALL = {"/shifts": ("shifts",), "/costs": ("llm-cost", "llm-prompts", "llm-bought")}
_DOMAINS = "SELECT domain FROM skills GROUP BY domain ORDER BY count(*) DESC, domain LIMIT 40"
_WEEKS = "SELECT DISTINCT week FROM tier_flow WHERE domain = $1 ORDER BY week DESC LIMIT 26"
_PUBLISHED = "SELECT max(published_at) FROM snapshot_info"


@dataclass(frozen=True)
class Figure:
    """A table: its id in the page, its headings, and its values."""

    name: str
    names: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """Each heading, with true if its cells are numbers, which are aligned by their end."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.names)
        numeric = [any(isinstance(value, int | float) for value in column) for column in columns]
        return list(zip(self.names, numeric, strict=True))

    @property
    def cells(self) -> Iterator[list[str]]:
        """The rows as text."""
        return ([text(value) for value in row] for row in self.rows)


def figure(con: DuckDBPyConnection, name: str, **values: Any) -> Figure:
    """The result of a figure's query; `values` has its parameters."""
    con.execute(QUERIES[name], {key: value for key, value in values.items() if f"${key}" in QUERIES[name]})
    return Figure(name, [column[0] for column in con.description or ()], con.fetchall())


async def of_a_domain(visit: Visit) -> Response:
    """Figures of the domain in the address, by default the largest one."""
    try:
        week = date.fromisoformat(visit.fields["week"]) if visit.fields.get("week") else None
    except ValueError:
        raise Problem(400, "week is not a date, such as 2026-01-05") from None

    def read(con: DuckDBPyConnection) -> dict[str, Any]:
        domains = [domain for (domain,) in con.execute(_DOMAINS).fetchall()]
        wanted = visit.fields.get("domain", "")
        domain = wanted if wanted in domains else next(iter(domains), "")
        weeks = [each for (each,) in con.execute(_WEEKS, [domain]).fetchall()] if visit.place == "/lines" else []
        names = OF_A_DOMAIN[visit.place] if domain else ()
        return _shown(con, names, domain=domain, week=week) | {"domains": domains, "domain": domain, "weeks": weeks}

    return visit.show("figures.html", **await visit.read(read))


async def of_all(visit: Visit) -> Response:
    """Figures of all domains."""
    return visit.show("figures.html", **await visit.read(lambda con: _shown(con, OF_ALL[visit.place])))


def _shown(con: DuckDBPyConnection, names: Sequence[str], **values: Any) -> dict[str, Any]:
    [(newest,)] = con.execute(_PUBLISHED).fetchall()
    as_of = None if newest is None else newest.replace(tzinfo=UTC)
    return {"as_of": as_of, "figures": [figure(con, name, **values) for name in names]}


for path in OF_A_DOMAIN:
    page("GET", path, Scope.READ_ALL)(of_a_domain)
for path in OF_ALL:
    page("GET", path, Scope.OPERATE)(of_all)
