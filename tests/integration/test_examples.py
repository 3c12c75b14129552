"""The examples of docs/examples, run as a user would: each host's order changes by what its users' choices taught."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from schemas import Ranking, Selection, SlimSkill
from tests.harness import Harness

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
HOSTS_GUIDE = ROOT / "docs" / "hosts.md"
SECONDS = 90
LINES = re.compile(r"^(\w+): (.+)\n  without: (.+)\n  with:    (.+)$", re.MULTILINE)


def run(example: Path, harness: Harness) -> str:
    """What an example prints, with no other knowledge of the deployment than its environment."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SAGER_")}
    done = subprocess.run(
        [sys.executable, str(example)],
        env={
            **inherited,
            "PYTHONPATH": str(ROOT / "clients" / "python"),
            "SAGER_BOOTSTRAP": harness.settings.bootstrap,
            "SAGER_PREFIX": harness.settings.prefix,
            "SAGER_PARTITIONS": str(harness.settings.partitions),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.on("embedded")
@pytest.mark.broker
@pytest.mark.thorough
def test_each_example_shows_what_the_slim_skill_changed(harness: Harness) -> None:
    harness.worker()
    harness.materializer()

    printed = {example.stem: run(example, harness) for example in EXAMPLES}

    for name, text in printed.items():
        told = LINES.findall(text)
        assert len(told) == 2, f"{name} printed:\n{text}"
        for _, line, without, given in told:
            assert line.startswith("likes: ")
            assert given != without, f"{name} printed:\n{text}"
    # What the guide shows is what is printed.
    assert printed["host_vanilla"] in HOSTS_GUIDE.read_text(encoding="utf-8")

    # A second run ranks with what the first one taught, and says so.
    known = {(skill.user_id, skill.domain): skill for skill in harness.quiet().values(SlimSkill)}
    run(next(example for example in EXAMPLES if example.stem == "host_vanilla"), harness)
    out = harness.count(Ranking, 16).values(Ranking)
    assert len(harness.count(Selection, 16).values(Selection)) == 16
    vera = known["vera", "films"]
    injected = {(told.skill_version, told.slim_skill) for told in (ranking.injected for ranking in out)}
    assert (vera.skill_version, vera.text) in injected

    # The guide's query tells the arms apart: here is one choice that went without, although there was a slim skill.
    without = harness.events.ranking("vera", "films", [{"item_id": "a"}, {"item_id": "b"}])
    harness.events.selection(without, "b", skill_version=vera.skill_version)
    (query,) = re.findall(r"^```sql\n(.*?)^```$", HOSTS_GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    rows = harness.duckdb(query, lambda got: len(got) == 2 and got[1][1] >= 4)
    (no, once, _, first_place, _), (yes, several, users, *_) = rows
    assert (no, once, first_place) == (False, 1, 0.0)
    assert (yes, users) == (True, 2)
    assert several >= 4
    assert not harness.outputs.dead_letters
