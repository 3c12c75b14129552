"""A text is searched for people and children only if it has a stem of theirs: so each of their words has one."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from sager_language.personal.text import stems_of
from sager_language.personal.words import patterns

_parser: Any = vars(re)["_parser"]


def words_of(tree: Iterable[Any]) -> set[str]:
    """What a pattern of a list matches: every alternative, with and without what may be left out."""
    told = {""}
    for named, what in tree:
        told = {begun + more for begun in told for more in _of(str(named), what)}
    return told


def _of(named: str, what: Any) -> set[str]:
    if named == "LITERAL":
        return {chr(what)}
    if named == "IN":
        return {chr(each) if str(kind) == "LITERAL" else "x" for kind, each in what}
    if named == "SUBPATTERN":
        return words_of(what[3])
    if named == "BRANCH":
        return set().union(*map(words_of, what[1]))
    if named == "MAX_REPEAT":
        least, most, part = what
        once = words_of(part)
        return ({""} if least == 0 else set()) | (once if most else set())
    assert named in ("ASSERT", "ASSERT_NOT", "AT"), f"{named}: say here what it matches"
    return {""}


@pytest.mark.parametrize(("words", "glance"), [("people", "glance-people"), ("children", "glance-children")])
def test_every_word_of_a_list_has_its_stem_among_those_that_are_looked_for_first(words: str, glance: str) -> None:
    stems = {stem for row in patterns(glance) for stem in row.split(", ")}

    told = [word for row in patterns(words) for word in words_of(_parser.parse(row))]

    assert len(told) > 200
    assert [word for word in told if stems_of(word).isdisjoint(stems)] == []
