"""Answers a person's query in a process of its own, which is killed when it takes too long or too much memory.

DuckDB's own limits act first, because their messages say more. Some functions ignore them: `pg_sleep` sleeps through
an interrupt, and `repeat` allocates memory outside of DuckDB's accounts. The system's limits hold for these too. A
statement that would write fails, whatever it is: the snapshot is attached read-only, DuckDB opens no other file and
changes no setting, and the process's limit on the size of files is zero.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from streams.exceptions import StreamsError
from streams.settings import Settings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CHUNK = 5_000
"""Rows that are sent at once."""
START_SECONDS = 60.0
"""Time limit for opening the snapshot."""
GRACE_SECONDS = 0.5
"""Time beyond DuckDB's own limit, whose message says more."""
DYING_SECONDS = 5.0
TICK_SECONDS = 0.2
SPARE_BYTES = 512 * 1024 * 1024
"""On top of the memory that DuckDB accounts for: threads, and rows on their way out."""


class Advice(NamedTuple):
    """Advice for a query that failed, as far as it depends on the caller; by default `sager sql`.

    Attributes:
        seconds, memory: if it took too long, or too much.
        names: if a name is unknown.
    """

    seconds: str = "ask for less, or allow more with --seconds"
    memory: str = "ask for less, or allow more with --memory"
    names: str = "`sager sql --list` lists tables, views and macros; `sager sql --describe NAME` lists columns"


SQL = Advice()


class QueryFailed(StreamsError, ValueError):
    """The query was refused, failed, or was stopped; the message gives the reason and advice."""


class Query:
    """A query under way, as a context manager: its end ends the process.

    Args:
        settings: the snapshot.
        query: SQL.
        values: its parameters.
        seconds: time limit for answering, without the time that the caller takes for the answer.
        memory_bytes: memory limit.
        on_progress: receives the progress in percent, again and again; None when a part of the answer has come.

    Raises:
        QueryFailed: also by `columns` and `rows`.
    """

    def __init__(
        self,
        settings: Settings,
        query: str,
        values: Sequence[Any],
        *,
        seconds: float,
        memory_bytes: int,
        on_progress: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        self._seconds, self._memory_bytes, self._on_progress = seconds, memory_bytes, on_progress
        self._left = START_SECONDS
        # A fork before DuckDB has any threads, which it would lose; it imports nothing again.
        context = multiprocessing.get_context("fork")
        self._in, out = context.Pipe(duplex=False)
        arguments = (self._in, out, settings, query, values, seconds, memory_bytes)
        self._process = context.Process(target=_answer, args=arguments, daemon=True)
        self._process.start()
        out.close()

    def columns(self) -> list[str]:
        """Return the columns' names; empty for a statement without a result."""
        self._receive("started")
        self._left = self._seconds + GRACE_SECONDS
        return [name for name, _ in self._receive("columns")]

    def rows(self) -> Iterator[Sequence[Any]]:
        """Yield the rows, as they come."""
        while chunk := self._receive("rows"):
            yield from chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._in.close()

    def _receive(self, wanted: str) -> Any:
        while True:
            began = time.monotonic()
            if not self._in.poll(max(0.0, self._left)):
                raise QueryFailed(too_long(self._seconds))
            try:
                kind, content = self._in.recv()
            except EOFError:
                self._process.join(DYING_SECONDS)
                raise QueryFailed(died(self._process.exitcode or 0, self._memory_bytes)) from None
            self._left -= time.monotonic() - began
            self._on_progress(content if kind == "at" else None)
            if kind == "failed":
                raise QueryFailed(content)
            if kind == wanted:
                return content


def _answer(
    unused: Connection,
    out: Connection,
    settings: Settings,
    query: str,
    values: Sequence[Any],
    seconds: float,
    memory_bytes: int,
) -> None:
    """Answer a query, in the process that is made for it."""
    unused.close()  # else sending would not fail after the caller's death
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends this process
    sending = threading.Lock()

    def send(kind: str, content: Any) -> None:
        with sending:
            out.send((kind, content))

    with contextlib.suppress(BrokenPipeError):  # the caller wants no more rows
        try:
            for kind, content in results(settings, query, values, seconds, memory_bytes, send):
                send(kind, content)
        except Exception as error:  # the other process reports it, whatever it is
            send("failed", told(error, seconds, memory_bytes))
    os._exit(0)


def results(
    settings: Settings,
    query: str,
    values: Sequence[Any],
    seconds: float,
    memory_bytes: int,
    send: Callable[[str, Any], None],
) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an answer: its start; its columns, as names and types; its rows in chunks, the last one empty.

    For a process of its own, which it limits for good, and which has no threads yet.

    Args:
        settings: the snapshot.
        query: SQL.
        values: its parameters.
        seconds: time limit that DuckDB checks.
        memory_bytes: memory limit.
        send: receives the progress meanwhile, from another thread; an OSError from it ends the process.

    Raises:
        StreamsError, MemoryError, duckdb.Error: see `told`.
    """
    from streams.materializer import read  # noqa: PLC0415 - while the other process prepares to print

    with read.connect(settings) as con:
        read.restrict(con, seconds, memory_bytes)
        _limit(memory_bytes)
        yield "started", None
        threading.Thread(target=_report_progress, args=(con, send), daemon=True).start()
        con.execute(query, values)
        yield "columns", [(name, str(kind)) for name, kind, *_ in con.description or ()]
        while con.description and (chunk := con.fetchmany(CHUNK)):
            yield "rows", chunk
        yield "rows", []


def _report_progress(con: "DuckDBPyConnection", send: Callable[[str, Any], None]) -> None:
    while True:
        time.sleep(TICK_SECONDS)
        try:
            send("at", max(0, int(con.query_progress())))
        except OSError:  # the caller is gone, perhaps killed: an abandoned query must not go on
            os._exit(0)
        except Exception:  # the connection is closed: the query is answered
            return


def _limit(memory_bytes: int) -> None:
    """Limit this process for good: its memory, and that it writes no file and leaves no image of its memory."""
    import resource  # noqa: PLC0415

    space = 4 * 1024**3  # address space of libraries and stacks, mostly without memory behind it
    if sys.platform.startswith("linux"):
        space = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = {"RLIMIT_AS": space + memory_bytes + SPARE_BYTES, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0}
    for name, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # a lower limit is in force, or the system has none
            resource.setrlimit(getattr(resource, name), (most, most))


def told(error: Exception, seconds: float, memory_bytes: int, advice: Advice = SQL) -> str:
    """Return the message for a query that failed within these limits."""
    if isinstance(error, StreamsError):
        return str(error)
    text = f"DuckDB says: {error}"
    if "maximum execution time" in text:
        return too_long(seconds, advice)
    if isinstance(error, MemoryError) or any(part in text for part in ("Out of Memory", "bad_alloc", "bad allocation")):
        return _too_much(memory_bytes, advice)  # DuckDB's own advice is settings that are locked
    if "does not exist" in text:
        return f"{text}\n{advice.names}"
    if "read-only" in text or "disabled by configuration" in text:
        return f"{text}. Only the snapshot can be read; `duckdb -readonly FILE` writes files"
    return text


def too_long(seconds: float, advice: Advice = SQL) -> str:
    """Return the message for a query that took longer than this."""
    return f"the query was stopped after {seconds:g} s: {advice.seconds}"


def _too_much(memory_bytes: int, advice: Advice) -> str:
    took = f"it took more than {memory_bytes / 1024**3:g} GiB of memory"
    return f"the query was stopped, because {took}: {advice.memory}"


def died(code: int, memory_bytes: int, advice: Advice = SQL) -> str:
    """Return the message for a query whose process ended with this code, as os.waitstatus_to_exitcode has it."""
    if code in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        return f"{_too_much(memory_bytes, advice)} ({signal.Signals(-code).name})"
    return f"the process that answers the query ended by itself, with {code}"
