"""The log of a skill, one version of it, and the effect of going back to that. `words.html` words the versions."""

from collections.abc import Iterable, Sequence
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from operators.history import at_version, difference
from schemas import ChangeKind, Refused, SkillDiff
from streams.console.pages import READERS, Visit, page
from streams.console.skill import current, no_skill, rights, scale
from streams.http.problems import Problem
from streams.materializer import read
from streams.rights.sentences import actor_of, names_of, shift_phrase

ENTRIES = 40
"""Versions on one page of the log."""
_COUNTS_ONLY = (ChangeKind.REINFORCED, ChangeKind.WEAKENED, ChangeKind.FADED, ChangeKind.OVERTAKEN)
_REFUSED = {
    "unknown-attribute": "this line is not there any more",
    "no-evidence": "nothing speaks for it",
    "also-reinforced": "the same choice speaks for it",
    "capped": "there is a limit to what one choice may bring",
    "pinned": "it is pinned",
    "full": "there is no room for it",
    "already-so": "it is so already",
    "private": "it is private, and nothing private is kept",
}


@page("GET", "/log", *READERS, under="/people")
async def log(visit: Visit) -> Response:
    """The versions of a skill, the newest first."""
    user, domain = visit.user(), visit.domain()
    before = visit.number("before") if "before" in visit.fields else None

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = _logged(con, user, domain)
        until = [diff for diff in diffs if before is None or diff.version < before]
        older = until[-ENTRIES].version if len(until) > ENTRIES else None
        return {"older": older, **_entries(con, until[-ENTRIES:], diffs)}

    return visit.show("log.html", user=user, domain=domain, before=before, **await visit.read(reading))


@page("GET", "/version", *READERS, under="/people")
async def version(visit: Visit) -> Response:
    """One version, the skill at it, and the effect of going back to it."""
    user, domain, number = visit.user(), visit.domain(), visit.number("version")

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = _logged(con, user, domain)
        then = at_version(diffs, number)
        now = current(visit.api, user, domain, at_version(diffs, diffs[-1].version))
        if then is None or now is None:
            raise Problem(404, "the log has no such version of this skill")
        entries = _entries(con, [diff for diff in diffs if diff.version == number], diffs)
        return {"then": then, "now": now, "back": difference(now, then), "scale": scale(then.attributes), **entries}

    found, may = await visit.read(reading), rights(visit, user)
    return visit.show("version.html", user=user, domain=domain, number=number, may=may, **found)


def _logged(con: DuckDBPyConnection, user: str, domain: str) -> list[SkillDiff]:
    diffs = read.diffs(con, user, domain)
    if not diffs:
        raise no_skill(domain)
    return diffs


def _entries(con: DuckDBPyConnection, chosen: Sequence[SkillDiff], diffs: Sequence[SkillDiff]) -> dict[str, Any]:
    """Versions for a template, the newest first, with the names of their lines and the titles of their items."""
    items = sorted({diff.evidence.item_id for diff in chosen if diff.evidence.item_id})
    entries = []
    for diff in reversed(chosen):
        effects = [each for each in diff.changes if each.kind not in _COUNTS_ONLY or each.before != each.after]
        effects.sort(key=lambda each: max(each.before or 0, each.after or 0), reverse=True)
        shift = shift_phrase(diff) if diff.shifted else ""
        more = {"refused": refused(diff.refused), "shift": shift, "counted": len(diff.changes) - len(effects)}
        entries.append({"diff": diff, "actor": actor_of(diff), "effects": effects, **more})
    return {"entries": entries, "names": names_of(diffs), "titles": read.titles(con, diffs[0].user_id, items)}


def refused(found: Iterable[Refused]) -> str:
    """Why a change had no effect, or not all of it."""
    return "; ".join(dict.fromkeys(_REFUSED.get(each.why.value, each.why.value) for each in found))
