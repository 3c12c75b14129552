"""Log files of children."""

import os
import subprocess
from pathlib import Path

from streams.local.outputs import appending, rotate


def test_a_log_is_private_and_bounded_while_its_child_writes_on(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "broker.log"
    with appending(log) as out:
        child = subprocess.Popen(["sh", "-c", "echo first; read x; echo second"], stdin=subprocess.PIPE, stdout=out)
        while not log.read_text():
            os.sched_yield()
        assert not rotate(log, 100)
        assert rotate(log, 3)
        child.communicate(b"\n", 10)

    older = log.with_name("broker.log.1")
    assert (older.read_text(), log.read_text()) == ("first\n", "second\n")
    assert [path.stat().st_mode & 0o777 for path in (log, older)] == [0o600, 0o600]


def test_a_log_that_is_not_there_is_not_rotated(tmp_path: Path) -> None:
    assert not rotate(tmp_path / "none.log")
