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

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS, VISITS = 300, 60


def data_set(folder: Path) -> Path:
    folder.mkdir()
    with gzip.open(folder / "items.jsonl.gz", "wt") as out:
        for number in range(VISITS):
            out.write(json.dumps({"item_id": f"f{number}", "title": f"Film {number}", "domain": "films"}) + "\n")
    with gzip.open(folder / "interactions.jsonl.gz", "wt") as out:
        for user in range(USERS):
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


def test_an_import_that_was_interrupted_goes_on_where_it_stopped(harness: Harness, tmp_path: Path) -> None:
    data = data_set(tmp_path / "data")

    with start(harness, data) as first:
        harness.until(lambda out: len(out.records.get("interactions", [])) > 500, "the import to be under way")
        first.send_signal(signal.SIGINT)
        _, told = first.communicate(timeout=60)
    assert (first.returncode, "Traceback" in told) == (130, False), told
    some = on_kafka(harness)
    assert 500 < len(some) < USERS * VISITS

    with start(harness, data) as second:
        out, told = second.communicate(timeout=120)
    assert second.returncode == 0, told
    counts = json.loads(out)
    assert counts["already_there"]["interactions"] == len(some)
    everything = on_kafka(harness)
    assert len(everything) == len(set(everything)) == USERS * VISITS
