"""The demo of a deployment whose skills stop learning after a warm-up."""

import json

from tests.e2e.cli_user import sager
from tests.patience import PATIENCE_SECONDS


def test_the_demo_ends_although_choices_past_the_warm_up_give_no_diff(tmp_path):
    small = ("--users", "3", "--rounds", "4", "--data-dir", str(tmp_path), "--json")
    done = sager("demo", *small, env={"SAGER_WARMUP_ROUNDS": "2"}, seconds=2 * PATIENCE_SECONDS)

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["selections"], facts["diffs"]) == (12, 6)
