"""The analyst's pages: what was learned, and what it is worth."""

from datetime import date

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from streams.console.board import arms, calibration, curve, lines
from streams.console.board.asked import of_domain
from streams.console.board.figures import Figure
from streams.console.pages import Section
from streams.console.visit import Visit
from streams.http.problems import Problem
from streams.http.tokens import Scope

ANALYSE = Section("Analyse")
READERS = (Scope.READ_ALL,)
DOMAIN_PAGE = "board/domain.html"


@ANALYSE.get("/learning", needs=READERS, nav="Learning curve", icon="curve")
async def learning(visit: Visit) -> Response:
    """The learning curve, and the cold start."""
    shown = await of_domain(
        visit, lambda con, domain: (curve.learning_curve(con, domain), curve.cold_start(con, domain))
    )
    return visit.page(
        DOMAIN_PAGE, shown=shown, title="Learning curve",
        lead="How soon lists get better, and how soon a skill says something at all.",
    )  # fmt: skip


@ANALYSE.get("/lines", needs=READERS, nav="Lines and tiers", icon="flow")
async def adopted(visit: Visit) -> Response:
    """The adoption of lines, and how they move between tiers."""
    week = _week(visit.query.get("week", ""))
    known: list[date] = []

    def read(con: DuckDBPyConnection, domain: str) -> tuple[Figure, ...]:
        known.extend(lines.weeks(con, domain))
        return lines.tier_flow(con, domain, week if week in known else None), lines.adoption(con, domain)

    shown = await of_domain(visit, read)
    return visit.page(
        "board/lines.html", shown=shown, title="Lines and tiers", weeks=known, week=week if week in known else None,
        lead="Which lines skills hold, and how they rise and fall.",
    )  # fmt: skip


@ANALYSE.get("/arms", needs=READERS, nav="Arms", icon="arms")
async def side_by_side(visit: Visit) -> Response:
    """Arms side by side."""
    shown = await of_domain(visit, lambda con, domain: (arms.arms(con, domain),))
    return visit.page(
        DOMAIN_PAGE, shown=shown, title="Arms",
        lead="Whether skills make rankings better.",
    )  # fmt: skip


@ANALYSE.get("/calibration", needs=READERS, nav="Calibration", icon="target")
async def calibrated(visit: Visit) -> Response:
    """Whether what rankings say of themselves comes true."""
    shown = await of_domain(visit, lambda con, domain: (calibration.calibration(con, domain),))
    return visit.page(
        DOMAIN_PAGE, shown=shown, title="Calibration",
        lead="A ranking says how probable it is that nothing in it suits. Here is how often that came true.",
    )  # fmt: skip


def _week(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Problem(400, "week is not a date, such as 2026-01-05") from None
