"""`sager eval online` as a user has it: users choose through a pipeline that it starts and ends by itself."""

import json
import os
import signal
import subprocess
import sys

import pytest

from evaluation.store import Store
from tests.e2e.cli_user import BASE, data_set, sager
from tests.patience import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.seldom]

SMALL = ("--users", "3", "--choices", "3")


def to(folder):
    return "--results", str(folder / "results.duckdb")


def of_session(process):
    """The processes that it started and that still run, itself among them; what has ended counts no more."""
    listed = subprocess.run(["ps", "-eo", "sid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sum(sid == str(process.pid) and not stat.startswith("Z") for sid, stat in rows)


def test_each_choice_is_ranked_with_all_that_was_learned_before(tmp_path):
    folder = data_set(tmp_path / "films")

    done = sager("eval", "online", "--data", str(folder), *SMALL, "--json", *to(tmp_path), seconds=200)

    assert done.returncode == 0, done.stderr
    with_skill, without = map(json.loads, done.stdout.splitlines())
    assert (with_skill["arm"], without["arm"]) == ("sager", "no-skill")
    for told in (with_skill, without):
        assert [len(places) for places in told["places"].values()] == [3, 3, 3]
        assert [point["contrasts_seen"] for point in told["curve"]] == ["0", "1", "2"]
        assert told["behind"] == 0
    kept = Store(tmp_path / "results.duckdb").curves()
    assert {(curve.arm, len(curve.points)) for curve in kept} == {("sager", 3), ("no-skill", 3)}


def test_ctrl_c_ends_all_that_was_started_without_a_traceback(tmp_path):
    folder, err = data_set(tmp_path / "films"), tmp_path / "err"
    with err.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "streams.cli", "eval", "online", "--data", str(folder), *to(tmp_path)],
            env=BASE,
            stderr=out,
            start_new_session=True,
        )
    until(lambda: of_session(process) > 2, "the pipeline to be started")
    os.kill(process.pid, signal.SIGINT)

    assert process.wait(PATIENCE_SECONDS) == 130
    assert "Traceback" not in err.read_text()
    assert until(lambda: not of_session(process), "all processes to end")
