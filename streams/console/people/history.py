"""The log of a skill, one version of it, and what going back to that would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from operators.history import at_version, difference
from schemas import PolicySkill, SkillDiff
from streams.console.people import words
from streams.console.people.pages import PEOPLE, READERS, UNDER, nothing_of, rights
from streams.console.people.reading import newest, shown
from streams.console.visit import Visit
from streams.http.problems import Problem
from streams.materializer import read
from streams.rights.sentences import shift_phrase
from streams.vouching import vouching_of

PAGE = 40
"""Versions on a page."""


@dataclass(frozen=True)
class Entry:
    """One version of the log, to be shown.

    Attributes:
        diff: the version.
        title: what it came of.
        lines: what it changed that says something else afterwards.
        counted: how many other lines it only counted.
        refused: what was not done, and why; empty: nothing.
    """

    diff: SkillDiff
    title: str
    lines: list[str]
    counted: int
    refused: str


@PEOPLE.get("/log", needs=READERS, under=UNDER)
async def log(visit: Visit) -> Response:
    """The versions of a skill, the newest first."""
    user, domain = visit.reads(visit.user()), visit.domain()
    before = visit.number("before") if "before" in visit.query else None

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = _logged(con, user, domain)
        upto = [diff for diff in diffs if before is None or diff.version < before]
        return {
            "entries": _entries(con, upto[-PAGE:], diffs),
            "older": upto[-PAGE].version if len(upto) > PAGE else None,
            "newest": diffs[-1].version,
        }

    found = await visit.read(lambda: visit.api.snapshot.ask(reading))
    return visit.page("people/log.html", user=user, domain=domain, before=before, **found)


@PEOPLE.get("/version", needs=READERS, under=UNDER)
async def version(visit: Visit) -> Response:
    """A version: what it changed, the skill as it was then, and what going back to it would do."""
    user, domain, number = visit.reads(visit.user()), visit.domain(), visit.number("version")
    settings = visit.api.settings

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = _logged(con, user, domain)
        then, now = at_version(diffs, number), at_version(diffs, diffs[-1].version)
        if then is None or now is None:
            raise Problem(404, "the log has no such version of this skill")
        now = newest(visit.api, now)
        entries = _entries(con, [diff for diff in diffs if diff.version == number], diffs)
        return {
            "then": then,
            "lines": shown([line for line in then.attributes if line.tier], vouching_of(settings)),
            "entry": entries[0] if entries else None,
            "now": now,
            "differences": _differences(now, then),
        }

    found = await visit.read(lambda: visit.api.snapshot.ask(reading))
    return visit.page("people/version.html", user=user, domain=domain, number=number, may=rights(visit, user), **found)


def _logged(con: DuckDBPyConnection, user: str, domain: str) -> list[SkillDiff]:
    diffs = read.diffs(con, user, domain)
    if not diffs:
        raise nothing_of(domain)
    return diffs


def _entries(con: DuckDBPyConnection, chosen: Sequence[SkillDiff], diffs: Sequence[SkillDiff]) -> list[Entry]:
    known = words.names(diffs)
    titles = read.titles(
        con, diffs[0].user_id, sorted({diff.evidence.item_id for diff in chosen if diff.evidence.item_id})
    )
    return [_entry(diff, known, titles) for diff in reversed(chosen)]


def _entry(diff: SkillDiff, known: dict[str, str], titles: dict[str, str]) -> Entry:
    weighty, counted = words.weighty(diff.changes)
    lines = [words.statement(each, known) for each in diff.stated]
    lines += [words.change(each, known) for each in weighty]
    if diff.shifted:
        lines.append(f"The taste {shift_phrase(diff)}: earlier statements are doubtful now")
    if diff.heard is not None and not diff.heard.understood:
        lines.append(f"Not understood: it changed nothing. {diff.heard.explanation}".rstrip())
    return Entry(diff, words.title(diff, titles), lines, counted, words.refused(diff.refused) if not lines else "")


def _differences(now: PolicySkill, then: PolicySkill) -> list[tuple[str, list[str]]]:
    return words.differences(difference(now, then))
