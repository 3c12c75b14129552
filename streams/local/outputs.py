"""The log files of child processes: private, and bounded."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams import private

MAX_BYTES = 10 * 1024 * 1024


@contextmanager
def appending(log: Path) -> Iterator[int]:
    """Open a log for a child's output, readable by its owner alone."""
    private.make(log.parent)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.fchmod(file, 0o600)
        yield file
    finally:
        os.close(file)


def rotate(log: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Move the contents of a log that has grown too large to `NAME.log.1`, and return true if it had.

    The child keeps writing to the same file. A line that it writes at this moment can be missing from both.
    """
    if not log.exists() or log.stat().st_size <= max_bytes:
        return False
    older = log.with_name(f"{log.name}.1")
    shutil.copyfile(log, older)
    older.chmod(0o600)
    os.truncate(log, 0)
    return True
