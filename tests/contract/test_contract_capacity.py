"""docs/capacity.md says what the model says, and the model knows every topic that a choice writes to."""

from typing import Any

import yaml

from benchmarks.capacity import chart, constants, tables, talks
from benchmarks.capacity.model import Size
from infra.chart import VALUES
from schemas import TOPICS


def test_the_tables_of_the_page_are_what_the_program_computes() -> None:
    page = tables.DOC.read_text(encoding="utf-8")

    assert tables.written(page, constants.load()) == page, "make them anew: python -m benchmarks.capacity --write"


def test_the_constants_are_of_topics_that_there_are() -> None:
    known = constants.load().topics

    assert set(known) <= set(TOPICS), "measure anew: python -m benchmarks.capacity --measure --write"
    assert {"rankings", "selections", "contrasts", "skills", "skill-diffs", "slim-skills"} <= set(known)


def test_the_constants_of_conversations_are_of_every_topic_that_a_turn_writes_to() -> None:
    known = set(talks.load().bytes_per_turn)

    assert known <= set(TOPICS)
    assert known == {"utterances", "conversations", "cards", "card-diffs"}, (
        "measure anew: benchmarks.capacity --measure-talks"
    )


def test_the_charts_own_sizes_are_for_a_hundred_thousand_users_with_a_choice_a_day() -> None:
    defaults = yaml.safe_load(VALUES.read_text(encoding="utf-8"))

    def agrees(wanted: Any, has: Any) -> bool:
        if isinstance(wanted, dict):
            return all(agrees(each, has[name]) for name, each in wanted.items())
        return bool(wanted == has)

    wanted = chart.values(Size(100_000, 100_000), constants.load())
    assert agrees(wanted, defaults), f"python -m benchmarks.capacity --users 100000 --values says {wanted}"
