"""Log files of children, and their lines."""

import json
import logging
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from streams.local.children import open_log, rotate_log


def test_a_log_is_private_and_bounded_while_its_child_writes_on(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "broker.log"
    with open_log(log) as out:
        child = subprocess.Popen(["sh", "-c", "echo first; read x; echo second"], stdin=subprocess.PIPE, stdout=out)
        while not log.read_text():
            os.sched_yield()
        assert not rotate_log(log, 100)
        assert rotate_log(log, 3)
        child.communicate(b"\n", 10)

    older = log.with_name("broker.log.1")
    assert (older.read_text(), log.read_text()) == ("first\n", "second\n")
    assert [path.stat().st_mode & 0o777 for path in (log, older)] == [0o600, 0o600]


def test_a_log_that_is_not_there_is_not_rotated(tmp_path: Path) -> None:
    assert not rotate_log(tmp_path / "none.log")


def test_every_line_is_an_object_also_of_an_error() -> None:
    program = """
import logging
from streams.logs import LogFormat, configure
configure("INFO", LogFormat.JSON)
logging.getLogger("sager.x").info("a %s\\nb", "line")
try: 1 / 0
except ZeroDivisionError: logging.getLogger("sager.y").exception("it failed")
logging.getLogger("sager.z").debug("not this")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    first, second = map(json.loads, done.stderr.splitlines())

    assert (first["level"], first["logger"], first["message"]) == ("INFO", "sager.x", "a line\nb")
    assert datetime.fromisoformat(first["time"]).utcoffset() is not None
    assert logging.getLevelName(second["level"]) == logging.ERROR
    assert "ZeroDivisionError" in second["exception"]
