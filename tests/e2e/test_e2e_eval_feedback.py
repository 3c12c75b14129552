"""`sager eval feedback --broker` as a user has it: what people say goes through a pipeline of its own."""

import json
from pathlib import Path

import pytest

from tests.e2e.cli_user import sager

pytestmark = [pytest.mark.on("embedded"), pytest.mark.seldom]

SAMPLE = Path(__file__).parents[1] / "data" / "pahf"


@pytest.mark.parametrize("replies", ["text", "structured"])
def test_one_pass_through_a_broker_honours_every_word_at_once(replies):
    done = sager("eval", "feedback", "--data", str(SAMPLE), "--broker", "--replies", replies, "--json", seconds=200)

    assert done.returncode == 0, done.stderr
    lines = {line["line"]: line for line in map(json.loads, done.stdout.splitlines())}
    summary = lines["summary"]
    assert [len(summary[f"phase_{phase}"]) for phase in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert lines["directives"]["said"] > 0
    assert lines["directives"]["honoured_at_once"] == 1.0
    assert lines["latency"]["corrections"] == summary["outcomes"]["corrected"]
    assert "not-understood" not in summary["outcomes"]
    assert summary["phase_2"][0] > 0.5  # who learned nothing reaches a third
