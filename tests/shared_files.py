"""What takes seconds to make and is only read is made once for all processes that run tests side by side."""

import atexit
import fcntl
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp


@cache
def _folder() -> Path:
    """A folder of this run of the tests; the last process that ends removes it."""
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
        if os.getpid() != pid:  # a child that was forked off
            return
        try:
            fcntl.flock(using, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # others are at it
            return
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(leave)
    return folder


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """The file or folder that `make` makes at the path that it is given, made by whoever comes first."""
    folder = _folder()
    made = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            fresh = folder / f"{name}.new"
            make(fresh)
            fresh.rename(made)
    return made
