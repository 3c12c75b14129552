"""Files that take seconds to make and are only read: made once for all parallel test processes."""

import atexit
import fcntl
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from streams.analytics.store import DuckDBStore


@cache
def _folder() -> Path:
    """A folder of this test run; the last process removes it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if not run:
        folder = Path(mkdtemp(prefix="sager-tests-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    folder = Path(gettempdir()) / f"sager-tests-{run}"
    folder.mkdir(exist_ok=True)
    using = os.open(folder / "using", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(using, fcntl.LOCK_SH)

    def leave(pid: int = os.getpid()) -> None:
        if os.getpid() != pid:  # a forked child
            return
        try:
            fcntl.flock(using, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # other processes still use it
            return
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(leave)
    return folder


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a file or folder that the first process makes with `make(path)`."""
    folder = _folder()
    made = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            fresh = folder / f"{name}.new"
            make(fresh)
            fresh.rename(made)
    return made


def empty_store(path: Path, prefix: str = "sager.") -> DuckDBStore:
    """Open a live file that is a copy of an empty one: creating its views takes ten times as long."""
    empty = make_once(f"{prefix}duckdb", lambda file: DuckDBStore(file, prefix).close())
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(empty, path)
    return DuckDBStore(path, prefix)
