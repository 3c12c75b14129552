"""docs/capacity.md says what the model says, and the model knows every topic that a choice writes to."""

from benchmarks.capacity import constants, tables
from schemas import TOPICS


def test_the_tables_of_the_page_are_what_the_program_computes() -> None:
    page = tables.DOC.read_text(encoding="utf-8")

    assert tables.written(page, constants.load()) == page, "make them anew: python -m benchmarks.capacity --write"


def test_the_constants_are_of_topics_that_there_are() -> None:
    known = constants.load().topics

    assert set(known) <= set(TOPICS), "measure anew: python -m benchmarks.capacity --measure --write"
    assert {"rankings", "selections", "contrasts", "skills", "skill-diffs", "slim-skills"} <= set(known)
