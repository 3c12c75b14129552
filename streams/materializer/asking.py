"""Answers a person's query in a process of its own, which is killed when it takes too long or too much.

DuckDB's own limits are asked first, because they say more. Some functions never look at them: `pg_sleep` sleeps
through an interrupt, and `repeat` takes memory that is in no account. The system's limits hold for these too.

The process may write no file, whatever the query does: its limit on the size of files is zero.
"""

import contextlib
import io
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
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
"""So much longer than DuckDB's own limit, which tells what was being done."""
DYING_SECONDS = 5.0
TICK_SECONDS = 0.2
SPARE_BYTES = 512 * 1024 * 1024
"""On top of what DuckDB may account for: threads, and rows on their way out."""
_CLASSES = {
    *(("datetime", name) for name in ("date", "time", "datetime", "timedelta", "timezone")),
    *(("decimal", "Decimal"), ("uuid", "UUID"), ("uuid", "SafeUUID"), ("pytz", "_p"), ("pytz", "_UTC")),
}
"""Of DuckDB's values."""


class Advice(NamedTuple):
    """What a person can do about a query that failed, as far as it depends on where they ask; by default `sager sql`.

    Attributes:
        seconds, memory: where it took too long, or too much.
        names: where a name is unknown.
    """

    seconds: str = "ask for less, or allow more with --seconds"
    memory: str = "ask for less, or allow more with --memory"
    names: str = "`sager sql --list` lists tables, views and macros; `sager sql --describe NAME` lists columns"


SQL = Advice()


class QueryFailed(StreamsError, ValueError):
    """The query was refused, failed, or was stopped; the message says why and what to try."""


class Asked:
    """A query under way, as a context manager: its end ends the process.

    Args:
        settings: which snapshot.
        query: one reading statement.
        values: its parameters.
        seconds: time limit for answering, without the time that the caller takes for what it got.
        memory_bytes: most memory that the query may take.
        tell: receives the progress in percent, again and again while the query runs; None when something has come.

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
        tell: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        self._seconds, self._memory_bytes, self._tell = seconds, memory_bytes, tell
        self._left = START_SECONDS
        self._in, out = Pipe(duplex=False)
        # Before DuckDB has any threads, which a fork would lose; and without importing everything once more.
        self._pid = os.fork()
        if not self._pid:
            try:
                self._in.close()
                _answer(out, settings, query, values, seconds, memory_bytes)
            finally:
                os._exit(0)
        out.close()

    def columns(self) -> list[str]:
        """The columns' names; empty for a statement without a result."""
        self._receive("started")
        self._left = self._seconds + GRACE_SECONDS
        return [name for name, _ in self._receive("columns")]

    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows, as they come."""
        while chunk := self._receive("rows"):
            yield from chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _receive(self, wanted: str) -> Any:
        while True:
            kind, content = self._next()
            if kind == "failed":
                self._tell(None)
                raise QueryFailed(content)
            if kind == "at":
                self._tell(content)
            elif kind == wanted:
                self._tell(None)
                return content

    def _next(self) -> tuple[str, Any]:
        began = time.monotonic()
        if not self._in.poll(max(0.0, self._left)):
            self._end()
            raise QueryFailed(too_long(self._seconds))
        try:
            kind, content = Rows(io.BytesIO(self._in.recv_bytes())).load()
        except EOFError:
            raise QueryFailed(died(self._end(DYING_SECONDS), self._memory_bytes)) from None
        self._left -= time.monotonic() - began
        return kind, content

    def _end(self, patience_seconds: float = 0.0) -> int:
        """Ends the process; returns how it ended, as os.waitstatus_to_exitcode does.

        Args:
            patience_seconds: how long it may take to end by itself, which tells why.
        """
        if not self._pid:
            return 0
        pid, self._pid = self._pid, 0
        self._in.close()
        give_up = time.monotonic() + patience_seconds
        ended, status = os.waitpid(pid, os.WNOHANG)
        while not ended and time.monotonic() < give_up:
            time.sleep(0.01)
            ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status)


class Rows(pickle.Unpickler):
    """Loads values of DuckDB and nothing else: the other side has run what somebody wrote."""

    def find_class(self, module: str, name: str) -> Any:
        """One of the few classes that values have."""
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no class of a value")
        return super().find_class(module, name)


def _answer(
    out: Connection, settings: Settings, query: str, values: Sequence[Any], seconds: float, memory_bytes: int
) -> None:
    """Answers a query, in the process that is made for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked ends this process
    sending = threading.Lock()

    def send(kind: str, content: Any) -> None:
        with sending:
            out.send_bytes(pickle.dumps((kind, content), pickle.HIGHEST_PROTOCOL))

    with contextlib.suppress(BrokenPipeError):  # nobody wants the rest
        try:
            for kind, content in results(settings, query, values, seconds, memory_bytes, send):
                send(kind, content)
        except Exception as error:  # to be told by the other process, whatever it is
            send("failed", told(error, seconds, memory_bytes))


def results(
    settings: Settings,
    query: str,
    values: Sequence[Any],
    seconds: float,
    memory_bytes: int,
    send: Callable[[str, Any], None],
) -> Iterator[tuple[str, Any]]:
    """What there is to send of a query.

    That it began; its columns, as names and types; its rows in chunks, the last one empty.

    For a process of its own, which it limits for good, and which has no threads yet.

    Args:
        settings: which snapshot.
        query: one reading statement.
        values: its parameters.
        seconds: time limit that DuckDB looks at.
        memory_bytes: most memory.
        send: receives the progress meanwhile, from another thread; an OSError from it ends the process.

    Raises:
        StreamsError, MemoryError, duckdb.Error: see `told`.
    """
    from streams.materializer import read  # noqa: PLC0415 - while the other process prepares to print
    from streams.materializer.statements import reading  # noqa: PLC0415

    with read.connect(settings) as con:
        read.restrict(con, seconds, memory_bytes)
        _limit(memory_bytes)
        yield "started", None
        statement = reading(con, query)
        threading.Thread(target=_tell, args=(con, send), daemon=True).start()
        con.execute(statement, values)
        yield "columns", [(name, str(kind)) for name, kind, *_ in con.description or ()]
        while con.description and (chunk := con.fetchmany(CHUNK)):
            yield "rows", chunk
        yield "rows", []


def _tell(con: "DuckDBPyConnection", send: Callable[[str, Any], None]) -> None:
    while True:
        time.sleep(TICK_SECONDS)
        try:
            send("at", max(0, int(con.query_progress())))
        except OSError:  # whoever asked is gone, perhaps killed: what nobody waits for must not go on
            os._exit(0)
        except Exception:  # the connection is closed: the query is answered
            return


def _limit(memory_bytes: int) -> None:
    """Limits this process for good: its memory, and that it writes no file and leaves no image of its memory."""
    import resource  # noqa: PLC0415

    for what, most in (
        (resource.RLIMIT_AS, _address_space() + memory_bytes + SPARE_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a lower limit is in force, or the system has none
            resource.setrlimit(what, (most, most))


def _address_space() -> int:
    """Bytes of address space that this process has by now: libraries and stacks, mostly without memory behind them."""
    if not sys.platform.startswith("linux"):
        return 4 * 1024**3
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def told(error: Exception, seconds: float, memory_bytes: int, advice: Advice = SQL) -> str:
    """What to tell a person of a query that failed within these limits."""
    if isinstance(error, StreamsError):
        return str(error)
    said = f"DuckDB says: {error}"
    if "maximum execution time" in said:
        return too_long(seconds, advice)
    if isinstance(error, MemoryError) or any(told in said for told in ("Out of Memory", "bad_alloc", "bad allocation")):
        return _too_much(memory_bytes, advice)  # DuckDB's own advice is settings that are locked
    if "does not exist" in said:
        return f"{said}\n{advice.names}"
    if "read-only" in said or "disabled by configuration" in said:
        return f"{said}. Only the snapshot can be read; `sager export` writes files"
    return said


def too_long(seconds: float, advice: Advice = SQL) -> str:
    """What to tell a person of a query that took longer than this."""
    return f"the query was stopped after {seconds:g} s: {advice.seconds}"


def _too_much(memory_bytes: int, advice: Advice) -> str:
    took = f"it took more than {memory_bytes / 1024**3:g} GiB of memory"
    return f"the query was stopped, because {took}: {advice.memory}"


def died(code: int, memory_bytes: int, advice: Advice = SQL) -> str:
    """What to tell a person of a query whose process ended with this code, as os.waitstatus_to_exitcode has it."""
    if code in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        return f"{_too_much(memory_bytes, advice)} ({signal.Signals(-code).name})"
    return f"the process that answers the query ended by itself, with {code}"
