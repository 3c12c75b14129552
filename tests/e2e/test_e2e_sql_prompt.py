"""`sager sql` at a terminal, as somebody has it: a pseudo-terminal, keys, and what appears on the screen."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from streams.materializer.snapshot import copy_and_rename
from streams.materializer.store import Store
from tests.e2e.cli_user import BASE
from tests.patience import PATIENCE_SECONDS

ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b[=>]")
PROMPT = "sager>"
SUNDAY = datetime(2026, 2, 15)  # noqa: DTZ001 - as the file has it


class Terminal:
    """The command on a pseudo-terminal; what it printed is read up to what is waited for."""

    def __init__(self, *words: str, data: Path) -> None:
        self._end, its_end = pty.openpty()
        env = {**BASE, "SAGER_DATA_DIR": str(data), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "100"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "streams.cli", "sql", *words],
            stdin=its_end, stdout=its_end, stderr=its_end, env=env, start_new_session=True,
            preexec_fn=lambda: _own_terminal(its_end),  # noqa: PLW1509 - the child has one thread
        )  # fmt: skip
        os.close(its_end)

    def types(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def until(self, wanted: str) -> str:
        """What appears, up to and with what is wanted."""
        told, give_up = "", time.monotonic() + PATIENCE_SECONDS
        while wanted not in told:
            assert time.monotonic() < give_up, f"no {wanted!r} in {told!r}"
            if select.select([self._end], [], [], 0.2)[0]:
                told = ESCAPES.sub("", told + os.read(self._end, 65_536).decode(errors="replace"))
        return told

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        os.close(self._end)


def _own_terminal(end: int) -> None:
    import fcntl  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(end, termios.TIOCSCTTY, 0)


def publish(data: Path, at: datetime) -> None:
    with Store(data / "live.duckdb", "sager.") as store:
        store.checkpoint(at, at)
        copy_and_rename(store.path, data / "sager.duckdb")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    publish(tmp_path, SUNDAY)
    return tmp_path


@pytest.fixture
def terminal(data: Path) -> Iterator[Terminal]:
    at = Terminal(data=data)
    at.until(PROMPT)
    yield at
    at.close()


def test_an_hour_at_the_prompt(terminal: Terminal, data: Path) -> None:
    terminal.types("SELECT count(*) AS lines,\r  7 * 6 AS answer\rFROM skill_attrib")
    terminal.until("utes")  # the menu
    terminal.types("\t")
    terminal.until("utes")  # the line
    terminal.types(";\r")
    told = terminal.until("1 row in")
    assert "42" in told, "Enter went on until the semicolon, and Tab completed the table's name"

    terminal.types("SELECT pg_sleep(300);\r")
    terminal.until("query ")  # the bar, after two seconds
    terminal.types("\x03")
    assert "stopped after" in terminal.until(PROMPT)

    publish(data, SUNDAY + timedelta(days=1))
    terminal.types("FROM snapshot_info\\G\r")
    told = terminal.until("1 row in")
    assert "a newer snapshot has been published" in told
    assert "─── row 1" in told
    assert "2026-02-16" in told

    terminal.types("FROM nothing_at_all;\r")
    assert "nothing_at_all does not exist" in terminal.until("LINE 1")
    terminal.types(".quit\r")
    assert terminal.process.wait(PATIENCE_SECONDS) == 0
    assert sorted(path.name for path in data.iterdir()) == ["live.duckdb", "sager.duckdb"], "no history is left"


def test_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.types("\x04")

    assert terminal.process.wait(PATIENCE_SECONDS) == 0


def test_without_a_snapshot_it_says_what_to_start(tmp_path: Path) -> None:
    at = Terminal(data=tmp_path)

    told = at.until("sager up")

    assert "there is no snapshot" in told
    assert at.process.wait(PATIENCE_SECONDS) == 1
    at.close()
