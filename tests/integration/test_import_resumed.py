"""An import that is cut off goes on where it stopped: run again, every event is on Kafka once."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import Harness
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS, VISITS, TRIES = 300, 60, 6
INTERRUPTED = 130


def data_set(folder: Path, users: int) -> Path:
    folder.mkdir()
    with gzip.open(folder / "items.jsonl.gz", "wt") as out:
        for number in range(VISITS):
            out.write(json.dumps({"item_id": f"f{number}", "title": f"Film {number}", "domain": "films"}) + "\n")
    with gzip.open(folder / "interactions.jsonl.gz", "wt") as out:
        for user in range(users):
            for number in range(VISITS):
                row = {"user_id": f"user-{user}", "item_id": f"f{number}", "timestamp": 1_700_000_000 + number}
                out.write(json.dumps(row) + "\n")
    return folder


def start(harness: Harness, data: Path) -> "subprocess.Popen[str]":
    own = {"SAGER_BOOTSTRAP": harness.settings.bootstrap, "SAGER_PREFIX": harness.settings.prefix}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "streams.cli", "import", str(data), "--json"],
        env={**os.environ, **own, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def on_kafka(harness: Harness) -> list[str]:
    harness.quiet(1)
    return [json.loads(m.value())["event_id"] for m in harness.outputs.records.get("interactions", [])]


def interrupted(harness: Harness, folder: Path) -> tuple[Path, int, list[str]]:
    """The data of an import that was interrupted half-way, its users, and what is on Kafka of it.

    One that was done before the signal came is followed by a larger one: no verdict depends on how fast it is.
    """
    there = 0
    for attempt in range(TRIES):
        users = USERS << attempt
        data = data_set(folder / f"data-{attempt}", users)
        enough = there + 500
        with start(harness, data) as first:
            harness.until(
                lambda out, enough=enough: len(out.records.get("interactions", [])) > enough,
                "the import to be under way",
            )
            first.send_signal(signal.SIGINT)
            _, told = first.communicate(timeout=WAIT_SECONDS)
        assert "Traceback" not in told
        some = on_kafka(harness)
        if first.returncode == INTERRUPTED:
            assert enough < len(some) < users * VISITS
            return data, users, some
        assert first.returncode in (0, -signal.SIGINT), told  # done, or even about to leave
        there = len(some)
    raise AssertionError(f"{TRIES} imports were done before they could be interrupted")


def test_an_import_that_was_interrupted_goes_on_where_it_stopped(harness: Harness, tmp_path: Path) -> None:
    data, users, some = interrupted(harness, tmp_path)

    with start(harness, data) as second:
        out, told = second.communicate(timeout=WAIT_SECONDS)
    assert second.returncode == 0, told
    counts = json.loads(out)
    assert counts["already_there"]["interactions"] == len(some)
    everything = on_kafka(harness)
    assert len(everything) == len(set(everything)) == users * VISITS
