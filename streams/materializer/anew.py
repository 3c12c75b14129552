"""Makes a new file by SQL statements, in a process of its own: see `rewriting`.

The first line of its input is a JSON object: the settings of DuckDB, and the statements. It runs at a low priority, and
ends when its input does, so that it does not outlive the process that has started it. It imports nothing of ours, so
that it starts at once.
"""

import json
import os
import sys
import threading
from contextlib import closing

import duckdb

NICE = 10
"""Added to the process's niceness: rows and readers come first."""


def _end_with_input() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    os.umask(0o077)
    os.nice(NICE)
    # Not through sys.stdin, whose lock a thread that waits for input keeps, also when the process is about to end.
    told = bytearray()
    while not told.endswith(b"\n"):
        if not (part := os.read(0, 65_536)):
            sys.exit(1)
        told += part
    threading.Thread(target=_end_with_input, daemon=True).start()
    asked = json.loads(told)
    with closing(duckdb.connect(config=asked["config"])) as con:
        for statement in asked["statements"]:
            con.execute(statement).fetchall()
