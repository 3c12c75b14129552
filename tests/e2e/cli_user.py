"""The command line as a process: output and exit code."""

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from schemas import PolicySkill, SkillDiff
from streams.analytics import read
from streams.local.broker import free_port
from streams.settings import Settings
from tests.waiting import WAIT_SECONDS, until

ROOT = Path(__file__).resolve().parents[2]
BASE = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("SAGER_", "OPENAI_"))},
    "PYTHONPATH": str(ROOT),
    "COLUMNS": "160",
}


def sager(
    *args: str, env: Mapping[str, str] | None = None, seconds: float = WAIT_SECONDS
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "streams.cli", *args],
        env={**BASE, **(env or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def answer(*args: str, env: Mapping[str, str] | None = None) -> Any:
    done = sager(*args, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Up:
    """`sager up` in a session of its own, as in a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self.out, self.err = folder / "up.out", folder / "up.err"
        self.data = folder / "data"
        env = {**BASE, "SAGER_PUBLISH_SECONDS": "0.5", "SAGER_BATCH_SECONDS": "0.2"}
        with self.out.open("w") as out, self.err.open("w") as err:
            ports = ["--port", str(free_port()), "--http-port", str(free_port())]
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "streams.cli", "up", "--data-dir", str(self.data), *ports],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                umask=0,
            )
        until(lambda: "Ctrl-C to stop" in self.out.read_text() or self.process.poll() is not None, "sager up")
        assert self.process.poll() is None, self.told()

    @property
    def url(self) -> str:
        (line,) = (line for line in self.out.read_text().splitlines() if "HTTP API" in line)
        return line.split()[2]

    def told(self) -> str:
        return self.out.read_text() + self.err.read_text()

    @property
    def env(self) -> dict[str, str]:
        words = [word for line in self.out.read_text().splitlines() if "export" in line for word in line.split()]
        return dict(word.split("=", 1) for word in words if "=" in word)

    def ends(self) -> int:
        return self.process.wait(WAIT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT_SECONDS)


def stored(data: Path, user: str) -> tuple[list[PolicySkill], list[SkillDiff]]:
    """The user's skills and diffs in the newest snapshot, read without starting a process."""
    if not (data / "sager.duckdb").exists():
        return [], []
    con = read.connect(Settings(data_dir=data))
    try:
        return read.skill(con, user), read.diffs(con, user)
    finally:
        con.close()


GENRES = ("Comedy", "Drama", "Horror", "Western")


def items(count: int = 24) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {
            "item_id": f"f{number}",
            "title": f"Film {number} ({1970 + number})",
            "domain": "films",
            "genres": GENRES[number % 4],
            "directors": f"Director {number % 6}",
        }


def data_set(folder: Path) -> Path:
    folder.mkdir()
    with gzip.open(folder / "items.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(item) + "\n" for item in items())
    with gzip.open(folder / "interactions.jsonl.gz", "wt") as out:
        for taste, user in enumerate(("ann", "bob", "cleo", "dan")):
            for order, number in enumerate(range(taste, 24, 4)):
                row = {"user_id": user, "item_id": f"f{number}", "timestamp": 1_700_000_000 + order}
                out.write(json.dumps(row) + "\n")
    return folder
