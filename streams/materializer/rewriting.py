"""A new file for the live one while rows go on: what changes meanwhile is listed, and brought over at the end."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

from schemas import Receipt
from streams.materializer import analytics, anew, ddl
from streams.materializer.analytics import quoted
from streams.materializer.batch import Batch
from streams.materializer.exceptions import MaterializerError
from streams.materializer.generations import copy
from streams.materializer.opening import attach, config_of
from streams.materializer.records import RowKey
from streams.materializer.tables import TABLES

MOST_KEYS = 500_000
"""How many changed keys are kept in memory; beyond them rows wait for the new file."""

_START = "import runpy, sys; sys.path[:] = sys.argv[2:]; runpy.run_path(sys.argv[1], run_name='__main__')"
"""Finds DuckDB where this process does, and looks into no other folder, such as that of the script."""


class Changes:
    """What was written since the rewriting began.

    Attributes:
        keys: the keys of changed rows by table.
        receipts: what was forgotten.
        is_stained: whether rows were deleted, which the new file then holds in its free blocks in turn.
    """

    def __init__(self) -> None:
        self.keys: dict[str, set[RowKey]] = {table.name: set() for table in TABLES}
        self.receipts: list[Receipt] = []
        self.is_stained = False

    def note(self, batch: Batch, receipts: Iterable[Receipt], *, is_stained: bool) -> None:
        """Notes a batch that was committed."""
        for table in TABLES:
            self.keys[table.name].update(batch.pending(table))
        self.receipts.extend(receipts)
        self.is_stained = self.is_stained or is_stained

    def __len__(self) -> int:
        return sum(map(len, self.keys.values()))


class Rewriting:
    """Makes the new file in processes of their own; nothing of it outlives this one.

    The live file must not be checkpointed before `copied` is set.

    Args:
        live: the file, just checkpointed.
    """

    def __init__(self, live: Path) -> None:
        self._live = live
        self._whole, self.fresh = live.with_name(live.name + ".whole"), live.with_name(live.name + ".fresh")
        clear(live)
        self.copied = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False
        self._thread = ThreadPoolExecutor(1, "rewriting")
        self._work: Future[None] = self._thread.submit(self._run)

    def is_done(self) -> bool:
        """Whether the new file is there, or will not come."""
        return self._work.done()

    def wait(self) -> None:
        """Waits for the end, be it good or bad."""
        self._work.exception()

    def result(self) -> Path:
        """Waits for the new file, which has all rows as of the beginning; `Store.adopt` takes it.

        Raises:
            MaterializerError: it could not be made.
            OSError: the folder cannot be written.
        """
        self._work.result()
        return self.fresh

    def stop(self) -> None:
        """Ends the processes and removes their files."""
        self._is_stopped = True
        if self._process is not None:
            self._process.kill()
        self._thread.shutdown()
        clear(self._live)

    def _run(self) -> None:
        try:
            copy(self._live, self._whole)
        finally:
            self.copied.set()
        try:
            self._make()
        finally:
            self._whole.unlink(missing_ok=True)

    def _make(self) -> None:
        # A folder of its own for spilled rows: they are people's, and a process that is killed leaves them.
        config = {**config_of(self.fresh), "temp_directory": str(_spill(self._live))}
        asked = {"config": config, "statements": list(statements(self._whole, self.fresh))}
        # Its input ends with this process, however that ends.
        with subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-c", _START, anew.__file__, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as self._process:  # fmt: skip
            if self._is_stopped:
                self._process.kill()
            said = _talk(self._process, json.dumps(asked).encode() + b"\n")
        if self._process.returncode:
            why = said.strip().rpartition("\n")[2] or f"the process ended with {self._process.returncode}"
            raise MaterializerError(f"could not write {self._live} anew: {why}")


def statements(source: Path, fresh: Path) -> Iterator[str]:
    """The statements that copy all rows into a new file, which gets its tables and keys as an empty one does.

    Neither free blocks nor indexes are copied: deleted rows stay in both.
    """
    yield attach(fresh, "live")
    yield f"ATTACH {quoted(str(source))} AS source (READ_ONLY)"
    yield "USE live"
    yield from ddl.statements()
    for table in ddl.all_tables():
        names = ", ".join(f'"{name}"' for name in table.names)
        yield f"INSERT INTO live.{table.name} SELECT {names} FROM source.{table.name}"  # noqa: S608 - our own names; values are bound  # nosec B608
    yield from analytics.statements()
    yield "CHECKPOINT live"


def _talk(process: "subprocess.Popen[bytes]", asked: bytes) -> str:
    """Sends a process its work and returns what it says until it ends; its input stays open until then."""
    if process.stdin is None or process.stderr is None:
        return ""
    with suppress(BrokenPipeError):  # it has ended already, and says why
        process.stdin.write(asked)
        process.stdin.flush()
    return process.stderr.read().decode(errors="replace")


def clear(live: Path) -> None:
    """Removes what a rewriting that was killed has left."""
    for end in (".whole", ".fresh", ".fresh.wal"):
        live.with_name(live.name + end).unlink(missing_ok=True)
    shutil.rmtree(_spill(live), ignore_errors=True)


def _spill(live: Path) -> Path:
    return live.with_name(live.name + ".spill")
