"""The log files of child processes: private, and bounded."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams import private

MOST_BYTES = 10 * 1024 * 1024


@contextmanager
def appending(log: Path) -> Iterator[int]:
    """A file descriptor for a child's output, which goes to the end of a file that nobody else can read."""
    private.make(log.parent)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.fchmod(file, 0o600)
        yield file
    finally:
        os.close(file)


def rotate(log: Path, most_bytes: int = MOST_BYTES) -> bool:
    """Move what a log holds to `NAME.log.1` once it is larger than this; whether that was so.

    The child goes on writing to the same file, whose end is its beginning again. A line that it writes just then can
    be missing from both.
    """
    try:
        if log.stat().st_size <= most_bytes:
            return False
    except FileNotFoundError:
        return False
    older = log.with_name(f"{log.name}.1")
    shutil.copyfile(log, older)
    older.chmod(0o600)
    os.truncate(log, 0)
    return True
