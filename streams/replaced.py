"""Files that a command replaces, because it wrote them itself: what lies there is looked at, then exchanged whole."""

import errno
import os
import stat
from pathlib import Path

from streams.exceptions import NotOurs

_NO_FILE = (errno.ELOOP, errno.EMLINK, errno.ENXIO)
"""What opening a link that is not to be followed, and a socket, fails with."""


def older(file: Path, most_bytes: int = -1) -> bytes | None:
    """The beginning of what would be replaced; None if there is nothing.

    Raises:
        NotOurs: no plain file is there, but a link, a folder or a pipe. None of them is followed or waited for.
        OSError: it cannot be read.
    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _no_file(file) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _no_file(file)
    with os.fdopen(handle, "rb") as found:
        return found.read(most_bytes)


def replace(file: Path, content: bytes) -> None:
    """Writes a file, whole or not at all; what was there keeps its content under any other name that it has.

    Raises:
        OSError: it cannot be written.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as out:
            out.write(content)
        part.replace(file)
    except FileExistsError:
        raise NotOurs(f"{part} is in the way: remove it") from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _no_file(file: Path) -> NotOurs:
    return NotOurs(f"{file} is a link or no plain file: name another place with --out, or move it away")
