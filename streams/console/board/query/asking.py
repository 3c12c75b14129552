"""Asks a process of its own, from an event loop: starts it, reads what it says, and ends it in any case."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from streams.console.board import words
from streams.console.board.query.child import HERE
from streams.console.board.query.frames import LINE_BYTES, Frame, Question, Row
from streams.http.problems import Problem
from streams.materializer.asking import GRACE_SECONDS, QueryFailed, died, too_long
from streams.settings import Settings

SECONDS, MEMORY_BYTES = 20.0, 512 * 1024**2
"""Limits of a query. Two of them fit into a container beside the server."""
START_SECONDS = 20.0
"""For starting the process and opening the snapshot, beside that."""
DYING_SECONDS = 2.0
SHOWN_ROWS, SHOWN_LETTERS, SHOWN_COLUMNS = 1_000, 300, 60
SHOWN_BYTES = 1_000_000
"""Limits of a page's table. Without one in bytes, long values in many columns made a page of 15 MB."""
FILE_ROWS, FILE_LETTERS, FILE_SECONDS = 1_000_000, 32_000, 120.0
"""What a file has of it. A spreadsheet's cell holds 32,767 letters."""
AT_ONCE, OF_ONE = 2, 1
"""Queries at once: of all, and of one token. Each may take a CPU and its memory."""
_TAGS_BYTES = len('<td class="num"></td>')
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH")
_ROOT = Path(__file__).resolve().parents[4]


@dataclass(frozen=True)
class Result:
    """What a query gave.

    Attributes:
        columns: names and DuckDB's types.
        rows: at most SHOWN_ROWS, with SHOWN_COLUMNS cells each, of SHOWN_BYTES as a page's table in all.
        more: whether there are more rows.
        is_cut: whether rows were left out because of SHOWN_BYTES.
    """

    columns: list[tuple[str, str]]
    rows: list[Row] = field(default_factory=list)
    more: bool = False
    is_cut: bool = False


class Places:
    """How many queries are under way, in all and of each token."""

    def __init__(self) -> None:
        self._taken: list[str] = []

    @contextmanager
    def one(self, token: str) -> Iterator[None]:
        """A place for as long as a query takes.

        Args:
            token: the token's hash.

        Raises:
            Problem: there is none.
        """
        if self._taken.count(token) >= OF_ONE:
            raise Problem(429, "your last query is still under way: it ends by itself soon", {"Retry-After": "5"})
        if len(self._taken) >= AT_ONCE:
            raise Problem(503, "others' queries are under way: try again in some seconds", {"Retry-After": "5"})
        self._taken.append(token)
        try:
            yield
        finally:
            self._taken.remove(token)


async def answer(settings: Settings, query: str) -> Result:
    """The result of one reading statement, as far as a page shows it.

    Raises:
        QueryFailed: it was refused, failed or was stopped; the message says why and what to try.
    """
    async with asked(settings, query, rows=SHOWN_ROWS, letters=SHOWN_LETTERS, seconds=SECONDS) as frames:
        result, size = Result([]), 0
        async for frame in frames:
            if frame.kind == "columns":
                result = Result([(name, kind) for name, kind in frame.content])
            elif frame.kind == "rows":
                for row in frame.content:
                    shown = row[:SHOWN_COLUMNS]
                    size += _page_bytes(shown)
                    if size > SHOWN_BYTES:
                        return replace(result, more=True, is_cut=True)
                    result.rows.append(shown)
            elif frame.kind == "end":
                result = replace(result, more=bool(frame.content))
        return result


def _page_bytes(row: Row) -> int:
    """The bytes that a row adds to a page: its escaped text, and the tags around each cell."""
    return _TAGS_BYTES * (1 + len(row)) + sum(len(escape(words.cell(value)).encode()) for value in row)


@asynccontextmanager
async def asked(
    settings: Settings, query: str, *, rows: int, letters: int, seconds: float
) -> AsyncIterator[AsyncIterator[Frame]]:
    """A query under way: what its process says, up to its `end`. The process ends with this.

    Args:
        settings: which snapshot.
        query: one reading statement.
        rows: most rows.
        letters: longest text of a value.
        seconds: time limit, of all.
    """
    question = Question(
        str(settings.duckdb_file.absolute()), settings.prefix, query, seconds, MEMORY_BYTES, rows, letters
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # not from the folder that we happen to be in
        "-m",
        "streams.console.board.query.child",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,  # it could quote the query, and people's values
        env=_environment(),
        limit=LINE_BYTES,
        process_group=0,
    )
    try:
        if process.stdin is not None:
            with suppress(ConnectionError):
                process.stdin.write(question.encode())
                await process.stdin.drain()
            process.stdin.close()
        yield _frames(process, seconds)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _frames(process: Process, seconds: float) -> AsyncIterator[Frame]:
    """What the process says.

    Raises:
        QueryFailed: it says so, or it ended by itself or took too long.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + START_SECONDS
    while process.stdout is not None:
        try:
            async with asyncio.timeout_at(give_up):
                line = await process.stdout.readline()
        except TimeoutError:
            raise QueryFailed(too_long(seconds, HERE)) from None
        except ValueError:
            raise QueryFailed(f"a row of the result is longer than {LINE_BYTES // 1024**2} MiB") from None
        if not line.endswith(b"\n"):
            raise QueryFailed(died(await _ended(process), MEMORY_BYTES, HERE))
        frame = Frame.decode(line)
        if frame.kind == "failed":
            raise QueryFailed(str(frame.content))
        if frame.kind == "started":
            give_up = loop.time() + seconds + GRACE_SECONDS
        yield frame
        if frame.kind == "end":
            return


async def _ended(process: Process) -> int:
    with suppress(TimeoutError):
        async with asyncio.timeout(DYING_SECONDS):
            return await process.wait()
    return 0


def _environment() -> dict[str, str]:
    """What the process needs to start, and nothing that is secret."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), kept.get("PYTHONPATH", "")]))}
