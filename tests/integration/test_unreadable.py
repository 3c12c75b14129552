"""An item on which a plug-in's parser fails: its lists are ranked, and their other items are learned from."""

from pathlib import Path

import pytest

from schemas import Contrast, Ranking, SkillDiff
from tests.harness import Harness

pytestmark = [pytest.mark.broker, pytest.mark.on("embedded")]

PARSER = """
from operators.statinit.generic import parse

def read(candidate):
    if candidate.item_id == "bad":
        raise ValueError(candidate.title)
    return parse(candidate)
"""


@pytest.mark.thorough
def test_a_list_with_an_unreadable_item_is_ranked_and_learned_from(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_parser.py").write_text(PARSER)
    installed = tmp_path / "hostile-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[sager.domains]\ntoys = hostile_parser:read\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    harness.worker()
    shown = [
        {"item_id": "bad", "title": "A secret title", "metadata": {"kind": "train"}},
        {"item_id": "a", "title": "A", "metadata": {"kind": "train"}},
        {"item_id": "b", "title": "B", "metadata": {"kind": "doll"}},
    ]

    request = harness.events.rank_request("ann", "toys", shown)
    harness.events.flush()
    harness.count(Ranking, 1)
    harness.events.selection(request, "a")
    harness.events.flush()

    outputs = harness.count(SkillDiff, 1)
    harness.quiet()
    [ranking], [contrast] = outputs.values(Ranking), outputs.values(Contrast)
    assert sorted(candidate.item_id for candidate in ranking.candidates) == ["a", "b", "bad"]
    assert (contrast.chosen.item_id, [item.item_id for item in contrast.unchosen]) == ("a", ["b"])
    assert outputs.dead_letters == []
    log = (harness.settings.data_dir / "worker.log").read_text()
    assert "ValueError in hostile_parser.py:6" in log
    assert "secret title" not in log
