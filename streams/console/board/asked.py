"""What the pages over the snapshot have in common: the domain that they are about, and how old what they show is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection

from streams.console.board.figures import Figure, Table
from streams.console.visit import Visit

MOST_DOMAINS = 40
_DOMAINS = "SELECT domain FROM skills GROUP BY domain ORDER BY count(*) DESC, domain LIMIT $1"
_NEWEST = "SELECT max(published_at) FROM snapshot_info"

Reader = Callable[[DuckDBPyConnection, str], Sequence[Figure]]


@dataclass(frozen=True)
class Shown:
    """What a page over one domain shows.

    Attributes:
        domain: it; empty where there is none yet.
        domains: all, the largest first.
        as_of: when the snapshot was published, in UTC; None if it does not say.
        figures: in their order.
    """

    domain: str
    domains: list[str]
    as_of: datetime | None
    figures: Sequence[Figure]


async def of_domain(visit: Visit, reader: Reader) -> Shown:
    """What a reader gives for the domain that the address names, or for the largest one."""
    wanted = visit.query.get("domain", "")

    def ask(con: DuckDBPyConnection) -> Shown:
        domains = [domain for (domain,) in con.execute(_DOMAINS, [MOST_DOMAINS]).fetchall()]
        domain = wanted if wanted in domains else next(iter(domains), "")
        return Shown(domain, domains, as_of(con), reader(con, domain) if domain else ())

    return await visit.read(lambda: visit.api.snapshot.ask(ask))


def as_of(con: DuckDBPyConnection) -> datetime | None:
    """When the snapshot was published, in UTC."""
    [(newest,)] = con.execute(_NEWEST).fetchall()
    return None if newest is None else newest.replace(tzinfo=UTC)


@dataclass(frozen=True)
class OfAll:
    """What a page over all domains shows."""

    as_of: datetime | None
    figures: Sequence[Figure]
    tables: Sequence[Table]


async def of_all(
    visit: Visit, reader: Callable[[DuckDBPyConnection], tuple[Sequence[Figure], Sequence[Table]]]
) -> OfAll:
    """What a reader gives for all domains."""
    return await visit.read(lambda: visit.api.snapshot.ask(lambda con: OfAll(as_of(con), *reader(con))))
