"""What a process has spent, from /proc: on a shared machine the only figure to trust."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS = 2.0
LOOKS = 3
IDLE_SHARE = 0.1


def end_in_order() -> None:
    """From now on SIGTERM and Ctrl-C end this process by way of its `finally`: children are ended, folders removed."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda which, _: sys.exit(128 + which))


def cpu_seconds(pid: int) -> float:
    """A process's user and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that have not been waited for yet.

    By their own word: the kernel's list of a process's children leaves some out while others end.
    """
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if parent == pid:
            found.append(int(stat.parent.name))
    return sorted(found)


def settled(pid: int, is_news: Callable[[], bool]) -> float:
    """A process's CPU seconds when it began to be idle: some work goes on after the last answer is out.

    Args:
        pid: the process.
        is_news: whether it has written anything since the last call.
    """
    spent, quiet = cpu_seconds(pid), 0
    since = spent
    while quiet < LOOKS:
        time.sleep(LOOK_SECONDS)
        now = cpu_seconds(pid)
        if is_news() or now - spent > IDLE_SHARE * LOOK_SECONDS:
            quiet, since = 0, now
        else:
            quiet += 1
        spent = now
    return since
