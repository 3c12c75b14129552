"""The query page: runs one statement in a `sager sql` process."""

import asyncio
import csv
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from starlette.responses import Response

from streams.analytics import read
from streams.console.pages import PageContext, cut, page
from streams.exceptions import StreamsError
from streams.http.limits import Limiter
from streams.http.tokens import Scope

FIRST = "FROM learning_curve ORDER BY domain, nth"
# Two queries at these limits fit into the container beside the server.
SECONDS, START_SECONDS, MEMORY_GIB, MOST_AT_ONCE = 20, 20, 0.5, 2
ROWS, COLUMNS, LETTERS, READ_BYTES = 1_000, 60, 300, 400_000
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_SLOTS = Limiter(MOST_AT_ONCE)  # a token has one of them at most
csv.field_size_limit(READ_BYTES)


class QueryFailed(StreamsError):
    """The query was rejected, failed or was stopped."""


@page("GET", "/query", Scope.READ_ALL)
@page("POST", "/query", Scope.READ_ALL)
async def run_query(ctx: PageContext) -> Response:
    """Show a first query, or run the form's query."""
    # By POST: a query may name people, and addresses end up in logs and histories.
    if ctx.page.method == "GET":
        return await _page(ctx, FIRST)
    query, token, settings = ctx.fields.get("query", ""), ctx.token.sha256, ctx.api.settings
    try:
        with _SLOTS.hold(token):
            output, is_cut = await query_as_csv(settings.duckdb_file, settings.prefix, query)
    except QueryFailed as error:
        return await _page(ctx, query, error=str(error), status=400)
    return await _page(ctx, query, **table_of(output, is_cut))


async def _page(ctx: PageContext, query: str, status: int = 200, **values: Any) -> Response:
    named: dict[str, list[Any]] = {}
    for name, kind, comment in await ctx.read(lambda con: con.execute(read.NAMES).fetchall()):
        named.setdefault(f"{kind.capitalize()}s", []).append((name, comment))
    shown = {"error": "", "headings": None, "named": named, "seconds": SECONDS, "most": ROWS} | values
    return ctx.render("query.html", status, query=query, **shown)


async def query_as_csv(file: Path, prefix: str, query: str, seconds: int = SECONDS) -> tuple[str, bool]:
    """Return the first rows as CSV, and True if there are more."""
    if not query.strip():
        raise QueryFailed("the query is empty: choose a name from the list, or write one")
    # A process of its own can be killed: some functions ignore DuckDB's time limit.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "streams.cli", "sql", "-", "--csv", "--duckdb", str(file)),
        *("--seconds", str(seconds), "--memory", str(MEMORY_GIB)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment(prefix),
        process_group=0,
    )
    assert process.stdin and process.stdout and process.stderr  # noqa: PT018, S101 - all three are pipes
    output = bytearray()
    try:
        os.setpriority(os.PRIO_PGRP, process.pid, 10)  # the API's responses come first
        process.stdin.write(query.encode(errors="surrogateescape"))
        process.stdin.close()
        async with asyncio.timeout(seconds + START_SECONDS):
            while len(output) < READ_BYTES and (part := await process.stdout.read(READ_BYTES)):
                output += part
            if len(output) < READ_BYTES and (code := await process.wait()):
                message = (await process.stderr.read()).decode(errors="replace").removeprefix("sager: ")
                raise QueryFailed(message if code > 0 else f"the query took more than {MEMORY_GIB} GiB of memory")
    except TimeoutError:
        raise QueryFailed(f"the query was stopped after {seconds} s: ask for less") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    text = output.decode(errors="replace")
    is_cut = len(output) >= READ_BYTES
    return text[: text.rfind("\n")] if is_cut else text, is_cut


def environment(prefix: str) -> dict[str, str]:
    """Return the environment variables that the process needs, without secrets."""
    names = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    path = f"{Path(__file__).resolve().parents[2]}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return kept | {"SAGER_PREFIX": prefix, "PYTHONPATH": path}


def table_of(output: str, is_cut: bool) -> dict[str, Any]:
    """Return the headings and cells that fit on a page."""
    heading, *rows = [*csv.reader(StringIO(output))] or [[]]
    cells = [[cut(cell, LETTERS) for cell in row[:COLUMNS]] for row in rows[:ROWS]]
    numeric = (all(not row[at] or _NUMBER.fullmatch(row[at]) for row in cells) for at in range(COLUMNS))
    headings = [(cut(name, LETTERS), is_number) for name, is_number in zip(heading, numeric, strict=False)]
    left_out = max(0, len(heading) - COLUMNS)
    return {"headings": headings, "cells": cells, "more": is_cut or len(rows) > ROWS, "left_out": left_out}
