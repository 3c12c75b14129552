"""The query box: a statement over the snapshot, its result as a table, a chart and a file."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from weakref import WeakKeyDictionary

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from streams.console.board import words
from streams.console.board.figures import Column, Figure, table
from streams.console.board.pages_analyse import ANALYSE, READERS
from streams.console.board.query import asking
from streams.console.board.query.asking import Places, Result
from streams.console.board.query.choice import NUMBERS, chart
from streams.console.board.query.files import as_csv
from streams.console.board.query.names import names
from streams.console.visit import Visit
from streams.http.api import Api
from streams.materializer.asking import QueryFailed

QUERY = "/query"
FIRST = "FROM learning_curve ORDER BY domain, nth"
EMPTY = "the query is empty: choose a name from the list, or write one"
_PLACES: WeakKeyDictionary[Api, Places] = WeakKeyDictionary()


@ANALYSE.get(QUERY, needs=READERS, nav="Query", icon="query")
async def box(visit: Visit) -> Response:
    """The box, with a query to begin with."""
    return await _page(visit, FIRST)


@ANALYSE.post(QUERY, needs=READERS, under=QUERY)
async def answered(visit: Visit) -> Response:
    """The answer to a query. It is in the form, not in the address: it may name people."""
    query = visit.form.get("query", "")
    if not query.strip():
        return await _page(visit, query, wrong=EMPTY, status=400)
    try:
        with _places(visit).one(visit.token.sha256):
            result = await asking.answer(visit.api.settings, query)
    except QueryFailed as error:
        return await _page(visit, query, wrong=str(error), status=400)
    return await _page(visit, query, result)


@ANALYSE.post("/query/file", needs=READERS, under=QUERY)
async def filed(visit: Visit) -> Response:
    """The answer as a CSV file, sent as it comes."""
    query = visit.form.get("query", "")
    stack = AsyncExitStack()
    try:
        stack.enter_context(_places(visit).one(visit.token.sha256))
        frames = await stack.enter_async_context(
            asking.asked(
                visit.api.settings, query, rows=asking.FILE_ROWS, letters=asking.FILE_LETTERS,
                seconds=asking.FILE_SECONDS,
            )
        )  # fmt: skip
        async for frame in frames:
            if frame.kind == "columns":
                return _File(as_csv([(name, kind) for name, kind in frame.content], frames), stack)
    except QueryFailed as error:
        await stack.aclose()
        return await _page(visit, query, wrong=str(error), status=400)
    except BaseException:
        await stack.aclose()
        raise
    await stack.aclose()
    return await _page(visit, query, wrong=EMPTY, status=400)


class _File(StreamingResponse):
    """A file that is sent as it comes; its query ends with it, however it ends."""

    def __init__(self, content: AsyncIterator[bytes], stack: AsyncExitStack) -> None:
        super().__init__(
            self._until_its_end(content),
            media_type="text/csv; charset=utf-8; header=present",
            headers={"Content-Disposition": 'attachment; filename="sager-query.csv"'},
        )
        self._stack = stack

    async def _until_its_end(self, content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The parts; the query's place is free when the last one is there."""
        async for part in content:
            yield part
        await self._stack.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await super().__call__(scope, receive, send)


async def _page(visit: Visit, query: str, result: Result | None = None, wrong: str = "", status: int = 200) -> Response:
    known = await visit.read(lambda: visit.api.snapshot.ask(names))
    return visit.page(
        "board/query.html", status, query=query, names=known, wrong=wrong, shown=_figure(result) if result else None,
        rows_=len(result.rows) if result else 0, more=result.more if result else False,
        is_cut=result.is_cut if result else False, megabytes=asking.SHOWN_BYTES // 1_000_000,
        hidden_columns=max(0, len(result.columns) - asking.SHOWN_COLUMNS) if result else 0,
        seconds=asking.SECONDS, most=asking.SHOWN_ROWS,
    )  # fmt: skip


def _figure(result: Result) -> Figure:
    """A result's chart, if there is one, and its table."""
    shown = result.columns[: asking.SHOWN_COLUMNS]
    columns = [Column(words.cut(name, 80), kind.partition("(")[0].upper() in NUMBERS) for name, kind in shown]
    found = table("Result", columns, result.rows)
    drawn = chart(shown, result.rows)
    note, option = drawn or ("", {})
    return Figure("result", "Chart", note, found, option)


def _places(visit: Visit) -> Places:
    return _PLACES.setdefault(visit.api, Places())
