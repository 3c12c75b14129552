"""What the processes do now."""

from weakref import WeakKeyDictionary

from starlette.responses import Response

from streams.console.board import polls
from streams.console.board.live import live
from streams.console.board.polls import Polls
from streams.console.pages import Section
from streams.console.visit import Visit
from streams.http.api import Api
from streams.http.tokens import Scope

OPERATE = Section("Operate")
OPERATORS = (Scope.OPERATE,)
SECONDS = 3
"""Between two looks of a page that is open."""
_POLLS: WeakKeyDictionary[Api, Polls] = WeakKeyDictionary()
"""Each deployment's; nothing is asked before somebody looks."""


@OPERATE.get("/live", needs=OPERATORS, nav="Live", icon="pulse")
async def now(visit: Visit) -> Response:
    """What the processes do now. The page asks for itself every few seconds, unless it is to stand still."""
    known = _POLLS.setdefault(visit.api, polls.of(visit.api.settings))
    return visit.page(
        "board/live.html", live=live(await known.look()), still="still" in visit.query, seconds=SECONDS,
        only_us=visit.api.settings.console_metrics is None,
    )  # fmt: skip
