"""A disk that is full, for real: rows or snapshots stop, nothing breaks, and all goes on once there is room.

On a small file system where this process may mount one, else by the limit that the kernel sets on the size of files.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from schemas import Contrast, SkillDiff
from streams.analytics import read
from streams.analytics.records import ChangeSet
from streams.analytics.snapshot import INVALIDATED_MESSAGE, Publisher
from streams.analytics.store import DuckDBStore, Progress
from streams.settings import Settings
from tests.builders import slate
from tests.faults.oracle import Run, assert_duckdb_has_each_row_once
from tests.faults.test_kills import BROKER
from tests.harness import Harness
from tests.unit.analytics.analytics_builders import NOON
from tests.waiting import WAIT_SECONDS, until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker, pytest.mark.timeout(600)]

CHOICES = 150
"""They take far more in DuckDB than the spare bytes."""
ROOM_BYTES, SPARE_BYTES = 512 * 1024 * 1024, 128 * 1024


@dataclass
class SmallDisk:
    path: Path

    def fill_up(self) -> None:
        self._resize(shutil.disk_usage(self.path).used + SPARE_BYTES)

    def make_room(self) -> None:
        self._resize(ROOM_BYTES)

    def _resize(self, size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", self.path], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "tmpfs", path], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def choose(harness: Harness, first: int, count: int) -> None:
    for number in range(first, first + count):
        shown = slate(number)
        harness.events.selection(harness.events.ranking(f"user-{number % 40}", "films", shown), shown[0]["item_id"])
    harness.events.flush()


def diffs_in(settings: Settings) -> int:
    if not settings.duckdb_file.exists():
        return 0
    with read.connect(settings) as con:
        [(count,)] = con.execute("SELECT count(*) FROM skill_diffs").fetchall()
    return int(count)


def ends(process: subprocess.Popen[bytes], harness: Harness) -> int:
    code = process.wait(WAIT_SECONDS)
    harness.processes.remove(process)
    return code


def assert_complete(harness: Harness, run: Run) -> None:
    """Every row is there, once, and every skill is what the log folds to."""
    outputs = harness.quiet()
    run.events = len(outputs.records[Contrast.TOPIC])
    harness.assert_all_stores_agree()
    assert_duckdb_has_each_row_once(harness, outputs)
    run.report()


def assert_told(log: Path, why: str) -> None:
    text = log.read_text()
    assert "Traceback" not in text
    last = text.splitlines()[-1]
    assert last.startswith("sager: DuckDB cannot write "), last
    assert why in last
    assert "Make room" in last


@pytest.mark.thorough
def test_no_room_for_rows(harness: Harness, small_disk: SmallDisk) -> None:
    """The materializer ends, says why, and leaves a snapshot to read; a new one goes on once there is room."""
    run = Run("disk full under the materializer's file", BROKER)
    harness.worker()
    log = harness.settings.data_dir / "materialize.log"
    place = {"data_dir": small_disk.path, "duckdb": harness.settings.duckdb_file}
    choose(harness, 0, 20)
    materializer = harness.start("materialize", **place)
    until(lambda: diffs_in(harness.settings) == 20, "a first snapshot")
    small_disk.fill_up()
    choose(harness, 20, CHOICES)

    assert ends(materializer, harness) == 1
    harness.count(SkillDiff, 20 + CHOICES)
    assert_told(log, "No space left on device")
    assert 20 <= diffs_in(harness.settings) < 20 + CHOICES

    # As long as there is no room, every new one says so, and takes nothing away.
    assert ends(harness.start("materialize", **place), harness) == 1
    assert_told(log, "No space left on device")
    assert diffs_in(harness.settings) >= 20

    small_disk.make_room()
    started = time.monotonic()
    harness.start("materialize", **place)
    until(lambda: diffs_in(harness.settings) == 20 + CHOICES, "all rows")
    run.recovery_seconds.append(time.monotonic() - started)
    assert_complete(harness, run)


def test_a_live_file_that_cannot_be_written_is_not_waited_for(small_disk: SmallDisk, tmp_path: Path) -> None:
    """DuckDB does nothing more with it in this process, room or no room: to try again and again would be in vain."""
    with DuckDBStore(small_disk.path / "live.duckdb", "sager.") as store:
        publisher = Publisher(store, tmp_path / "sager.duckdb", 15.0, lambda: 0.0)
        store.write(ChangeSet(), {("topic", number): Progress(number, f"id-{number}") for number in range(50_000)})
        small_disk.fill_up()

        with pytest.raises(duckdb.Error, match="No space left"):
            publisher.publish_if_due()
        with pytest.raises(duckdb.Error, match=INVALIDATED_MESSAGE):
            publisher.publish_if_due()

    small_disk.make_room()
    with DuckDBStore(small_disk.path / "live.duckdb", "sager.") as store:
        again = Publisher(store, tmp_path / "sager.duckdb", 15.0, lambda: 0.0)
        assert again.publish_if_due()
        assert len(store.offsets()) == 50_000


def write_until_full(store: DuckDBStore) -> None:
    for number in range(100_000):
        store.write(ChangeSet(), {("topic", each): Progress(number, "id") for each in range(500)})


def test_a_commit_that_failed_is_not_written_when_the_file_is_closed(small_disk: SmallDisk) -> None:
    """DuckDB keeps parts of it in memory. A checkpoint would write keys into indexes whose rows are not there."""
    live = small_disk.path / "live.duckdb"
    written = 0

    def fail() -> None:
        nonlocal written
        with DuckDBStore(live, "sager.") as store:
            store.checkpoint(NOON.replace(tzinfo=None), None)
            written = live.stat().st_mtime_ns
            small_disk.fill_up()
            try:
                write_until_full(store)
            finally:
                small_disk.make_room()

    with pytest.raises(duckdb.Error, match="Failed to commit"):
        fail()

    assert live.stat().st_mtime_ns == written
    with DuckDBStore(live, "sager.") as store:
        [reached] = {progress.next_offset for progress in store.offsets().values()}
        store.write(ChangeSet(), {("topic", each): Progress(reached + 1, "id") for each in range(500)})
