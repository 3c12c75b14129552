"""docs/rights.md against what there is: topics with their retention, commands, and the tests that it names."""

import re
from datetime import timedelta
from pathlib import Path

from schemas import TOPICS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/rights.md").read_text(encoding="utf-8")


def test_every_topic_that_keeps_a_person_for_a_while_is_told_with_how_long() -> None:
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) days \|$", PAGE, re.MULTILINE))
    kept = {
        topic.base: str(topic.retention // timedelta(days=1))
        for topic in TOPICS.values()
        if topic.retention is not None
    }

    assert listed == kept


def test_topics_of_persons_that_are_kept_for_ever_are_compacted() -> None:
    """Only from those a tombstone takes something away."""
    assert [topic.base for topic in TOPICS.values() if topic.retention is None and not topic.compact] == []


def test_every_right_names_tests_that_there_are() -> None:
    named = re.findall(r"`(tests/[a-z_/.]+)`", PAGE)

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
