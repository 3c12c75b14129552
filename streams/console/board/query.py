"""The query box: one reading statement over the snapshot, answered by a `sager sql` process of its own."""

import asyncio
import csv
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from starlette.responses import Response, StreamingResponse

from streams.console.formats import cut, number
from streams.console.pages import ANALYSE, Visit
from streams.exceptions import StreamsError
from streams.http.problems import Problem
from streams.http.tokens import Scope

FIRST = "FROM learning_curve ORDER BY domain, nth"
PAGE_SECONDS, FILE_SECONDS, START_SECONDS = 20, 120, 20
MEMORY_GIB = 0.5
"""Two such queries fit into a container beside the server."""
PAGE_ROWS, PAGE_COLUMNS, PAGE_LETTERS, PAGE_BYTES = 1_000, 60, 300, 1_000_000
FILE_ROWS, ROW_BYTES = 1_000_000, 4 * 1024 * 1024
MOST_AT_ONCE = 2
CELL_BYTES = len('<td class="num"></td>')
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of a formula, which a spreadsheet would carry out."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|-?inf|nan")
_NAMES = """
    WITH named AS (
        SELECT 1 AS place, 'Views' AS kind, view_name AS name, comment, [] AS parameters FROM duckdb_views()
        WHERE database_name = 'snapshot' AND NOT internal
        UNION ALL
        SELECT 2, 'Macros', function_name, comment, parameters FROM duckdb_functions()
        WHERE database_name = 'snapshot' AND NOT internal
        UNION ALL
        SELECT 3, 'Tables', table_name, comment, [] FROM duckdb_tables() WHERE database_name = 'snapshot'
    ), columns AS (
        SELECT table_name AS name, list([column_name || ' ' || lower(data_type), comment] ORDER BY column_index) AS found
        FROM duckdb_columns() WHERE database_name = 'snapshot' GROUP BY ALL
    )
    SELECT kind, name, comment, parameters, coalesce(found, []) FROM named LEFT JOIN columns USING (name)
    ORDER BY place, name
"""
_running: list[str] = []
"""The tokens whose queries are under way."""


class QueryFailed(StreamsError):
    """The query was refused, failed or was stopped; the message has the reason and a remedy."""


@ANALYSE.get("/query", Scope.READ_ALL, nav="Query", icon="query")
async def box(visit: Visit) -> Response:
    """The box, with a first query."""
    return await _page(visit, FIRST)


@ANALYSE.post("/query", Scope.READ_ALL, under="/query")
async def answered(visit: Visit) -> Response:
    """The answer to a query. The query is in the form, not in the address, because it may name people."""
    query, found, size, more = visit.fields.get("query", ""), list[list[str]](), 0, ""
    try:
        async with aclosing(answer(visit, query, PAGE_SECONDS)) as rows:
            async for row in rows:
                shown = [cut(cell, PAGE_LETTERS) for cell in row[:PAGE_COLUMNS]]
                size += CELL_BYTES * (1 + len(shown)) + sum(len(escape(cell).encode()) for cell in shown)
                if size > PAGE_BYTES or len(found) > PAGE_ROWS:
                    more = "bytes" if size > PAGE_BYTES else "rows"
                    break
                found.append(shown)
                left_out = len(row) - len(shown)
    except QueryFailed as error:
        return await _page(visit, query, str(error), 400)
    heading, cells = found[0], found[1:]
    numeric = [_is_numeric([row[at] for row in cells]) for at in range(len(heading))]
    cells = [[number(float(v)) if n and "." in v else v for v, n in zip(row, numeric, strict=True)] for row in cells]
    headings = list(zip(heading, numeric, strict=True))
    result = {"headings": headings, "cells": cells, "more": more, "left_out": left_out}
    return await _page(visit, query, result=result)


@ANALYSE.post("/query/file", Scope.READ_ALL, under="/query")
async def filed(visit: Visit) -> Response:
    """The answer as a CSV file, sent as it comes."""
    query = visit.fields.get("query", "")
    rows = answer(visit, query, FILE_SECONDS)
    try:
        heading = await anext(rows)
    except QueryFailed as error:
        return await _page(visit, query, str(error), 400)

    async def lines() -> AsyncIterator[str]:
        async with aclosing(rows):
            yield as_csv(heading)
            count = 0
            async for row in rows:
                yield as_csv(row)
                count += 1
                if count == FILE_ROWS:
                    return

    named = {"Content-Disposition": 'attachment; filename="sager-query.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8; header=present", headers=named)


async def _page(
    visit: Visit, query: str, wrong: str = "", status: int = 200, result: dict[str, Any] | None = None
) -> Response:
    named: dict[str, list[Any]] = {}
    for kind, *rest in await visit.read(lambda con: con.execute(_NAMES).fetchall()):
        named.setdefault(kind, []).append(rest)
    limits = {"seconds": PAGE_SECONDS, "most": PAGE_ROWS, "megabytes": PAGE_BYTES // 1_000_000}
    return visit.show("query.html", status, query=query, wrong=wrong, result=result, named=named, **limits)


async def answer(visit: Visit, query: str, seconds: int) -> AsyncIterator[list[str]]:
    """The heading and the rows of an answer, as text. The process ends with this iterator.

    Raises:
        QueryFailed: there is no answer.
        Problem: too many queries are under way.
    """
    settings, token = visit.api.settings, visit.token.sha256
    if token in _running:
        raise Problem(429, "your last query is still under way: it ends by itself soon", {"Retry-After": "5"})
    if len(_running) >= MOST_AT_ONCE:
        raise Problem(503, "others' queries are under way: try again in some seconds", {"Retry-After": "5"})
    if not query.strip():
        raise QueryFailed("the query is empty: choose a name from the list, or write one")
    _running.append(token)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "streams.cli", "sql", "-", "--csv"),
            *("--duckdb", str(settings.duckdb_file.absolute()), "--seconds", str(seconds), "--memory", str(MEMORY_GIB)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(settings.prefix),
            limit=ROW_BYTES,
            process_group=0,
        )
        try:
            os.setpriority(os.PRIO_PGRP, process.pid, 10)  # answers of the API come first
            async for row in _rows(process, query, seconds + START_SECONDS):
                yield row
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    finally:
        _running.remove(token)


async def _rows(process: asyncio.subprocess.Process, query: str, patience_seconds: int) -> AsyncIterator[list[str]]:
    assert process.stdin is not None  # noqa: S101 - all three are pipes
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    with suppress(ConnectionError):
        process.stdin.write(query.encode(errors="surrogateescape"))
        await process.stdin.drain()
    process.stdin.close()
    row, size, in_quotes = list[str](), 0, False
    while True:
        try:
            async with asyncio.timeout(patience_seconds):
                line = await process.stdout.readline()
                if not line and await process.wait():
                    raise QueryFailed((await process.stderr.read()).decode(errors="replace").removeprefix("sager: "))
        except TimeoutError:
            raise QueryFailed(f"the query was stopped after {patience_seconds} s: ask for less") from None
        except ValueError:
            raise QueryFailed(f"a row of the result is longer than {ROW_BYTES // 1024**2} MiB") from None
        if not line:
            return
        row.append(line.decode())
        size += len(line)
        in_quotes ^= bool(line.count(b'"') % 2)  # a line break in quotes belongs to the value
        if size > ROW_BYTES:
            raise QueryFailed(f"a row of the result is longer than {ROW_BYTES // 1024**2} MiB")
        if not in_quotes:
            yield next(csv.reader(["".join(row)]))
            row, size = [], 0


def environment(prefix: str) -> dict[str, str]:
    """The variables that the process needs to start, and no secret."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    root = str(Path(__file__).resolve().parents[3])
    return kept | {"SAGER_PREFIX": prefix, "PYTHONPATH": os.pathsep.join(filter(None, [root, kept.get("PYTHONPATH")]))}


def as_csv(row: Sequence[str]) -> str:
    r"""A line of a CSV file, in which no text begins like a formula.

    >>> as_csv(["=HYPERLINK(1)", "-1.5", "a,b"])
    '\'=HYPERLINK(1),-1.5,"a,b"\r\n'
    """
    out = StringIO()
    csv.writer(out).writerow(f"'{v}" if v.startswith(FORMULA) and not _NUMBER.fullmatch(v) else v for v in row)
    return out.getvalue()


def _is_numeric(values: Sequence[str]) -> bool:
    return any(values) and all(not value or _NUMBER.fullmatch(value) for value in values)
