"""Makes a spare file equal to the live one by writing only the blocks that differ.

    python -I -S patch.py LIVE SPARE...

It takes the first spare that nobody has open, prints its number and exits with 0; with `IN_USE` if all are open, with
`IMPOSSIBLE` where the file system cannot tell. It runs as a process of its own, because closing a descriptor of the
live file inside its writer would drop DuckDB's lock, and imports nothing of ours, so that it starts at once.

Both files are compared in full. Whatever a spare held before, even half of an earlier patch, it holds the live file's
bytes afterwards.
"""

import fcntl
import os
import signal
import stat
import sys
from pathlib import Path

BLOCK = 64 * 1024
IN_USE, IMPOSSIBLE = 3, 4

_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs"})
"""File systems that count all open descriptors of a file. One that is shared over a network may be open elsewhere."""


def is_local(file: int) -> bool:
    """Whether the descriptor's file lies in a file system that knows of everybody who has it open."""
    device = os.fstat(file).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    try:
        with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="replace") as mounts:
            kinds = {line.partition(" - ")[2].split()[0] for line in mounts if line.split()[2] == name}
    except OSError:
        return False
    return bool(kinds) and kinds <= _LOCAL


def claim(file: int) -> bool:
    """Whether nobody else has the descriptor's file open under any name; who opens it now waits until we close it.

    The kernel grants a write lease only on a file that is open nowhere else, mapped files included.
    """
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        return False
    return os.fstat(file).st_nlink == 1


def patch(live: int, spare: int) -> None:
    """Gives the spare the live file's bytes and length."""
    size = os.fstat(live).st_size
    wanted, found = bytearray(BLOCK), bytearray(BLOCK)
    for at in range(0, size, BLOCK):
        length = os.preadv(live, [wanted], at)
        if os.preadv(spare, [found], at) != length or wanted != found:
            with memoryview(wanted) as block:
                _write(spare, block[:length], at)
    os.ftruncate(spare, size)


def _write(file: int, block: memoryview, at: int) -> None:
    while block:
        written = os.pwrite(file, block, at)
        block, at = block[written:], at + written


def main(live: str, *spares: str) -> int:
    """Patches the first spare that is free; see the module."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return IMPOSSIBLE
    # Somebody who opens a leased file makes the kernel send this signal, which would end the process.
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    source = os.open(live, os.O_RDONLY)
    for number, path in enumerate(map(Path, spares)):
        found = path.lstat()
        if found.st_nlink != 1 or not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            # Somebody has linked it, or it is the published file itself, after a kill between link and rename; or, in
            # a folder that is open to others, a stranger has put it there.
            continue
        path.chmod(0o600)
        spare = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        if not is_local(spare):
            return IMPOSSIBLE
        if claim(spare):
            patch(source, spare)
            print(number)
            return 0
        os.close(spare)
    return IN_USE


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:
        sys.exit(str(error))
