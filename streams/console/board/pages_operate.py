"""What tastes did, and what the LLM costs: the operator's pages over the snapshot."""

from starlette.responses import Response

from streams.console.board import costs, shifts
from streams.console.board.asked import of_all
from streams.console.board.pages_live import OPERATE, OPERATORS
from streams.console.visit import Visit


@OPERATE.get("/shifts", needs=OPERATORS, nav="Shifts in taste", icon="shift")
async def changed(visit: Visit) -> Response:
    """Tastes that changed or may have, counted."""
    shown = await of_all(visit, lambda con: ([shifts.shifts(con)], []))
    return visit.page(
        "board/all.html", shown=shown, title="Tastes that may have changed",
        lead="Counted, without the people: a sudden rise is worth a look at what is shown to them.",
    )  # fmt: skip


@OPERATE.get("/costs", needs=OPERATORS, nav="LLM cost", icon="coin")
async def cost(visit: Visit) -> Response:
    """What LLM calls cost, and what they bought."""
    shown = await of_all(visit, lambda con: ([costs.by_day(con)], [costs.by_prompt(con), costs.bought(con)]))
    return visit.page(
        "board/all.html", shown=shown, title="LLM cost",
        lead="At the prices that were set when the materializer started.",
    )  # fmt: skip
