"""The log of a skill in a lay person's words, one version of it, and the effect of going back to that."""

from collections.abc import Iterable, Sequence
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from operators.history import Difference, at_version, difference
from schemas import Attribute, Change, ChangeKind, Refused, Said, SkillDiff, StatementChange
from streams.console.formats import SURE
from streams.console.pages import PEOPLE, READERS, Visit
from streams.console.people.lines import no_skill
from streams.console.people.skill import current, scale
from streams.http.problems import Problem
from streams.materializer import read
from streams.rights.changes import actor_of, shift_phrase
from streams.rights.said import what

ENTRIES = 40
"""Versions on one page of the log."""
_CHANGED = {
    ChangeKind.DISCOVERED: "new",
    ChangeKind.ADDED: "written in",
    ChangeKind.REMOVED: "removed",
    ChangeKind.EVICTED: "left out, as there was no more room",
    ChangeKind.PINNED: "pinned",
    ChangeKind.UNPINNED: "no longer pinned",
    ChangeKind.REWORDED: "reworded",
    ChangeKind.RESTORED: "brought back",
    ChangeKind.FORGOTTEN: "forgotten",
    ChangeKind.SHIFTED: "says nothing until choices confirm it again",
    ChangeKind.FADED: "counts less, as nothing confirmed it for long",
    ChangeKind.OVERTAKEN: "counts less, as it is older than a change of taste",
    ChangeKind.SET: "set",
    ChangeKind.REINFORCED: "counts a little more",
    ChangeKind.WEAKENED: "counts a little less",
}
_COUNTED = (ChangeKind.REINFORCED, ChangeKind.WEAKENED, ChangeKind.FADED, ChangeKind.OVERTAKEN)
_STATED = {
    Said.WITHDRAWN: "taken back",
    Said.REMOVED: "removed",
    Said.EXPIRED: "its time was over",
    Said.FULL: "left out, as there was no more room",
    Said.FORGOTTEN: "forgotten",
    Said.RESTORED: "brought back",
}
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


@PEOPLE.get("/log", *READERS, under="/people")
async def log(visit: Visit) -> Response:
    """The versions of a skill, the newest first."""
    user, domain = visit.user(), visit.domain()
    before = visit.number("before") if "before" in visit.fields else None

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = _logged(con, user, domain)
        until = [diff for diff in diffs if before is None or diff.version < before]
        older = until[-ENTRIES].version if len(until) > ENTRIES else None
        return {"entries": _entries(con, until[-ENTRIES:], diffs), "older": older}

    return visit.show("log.html", user=user, domain=domain, before=before, **await visit.read(reading))


@PEOPLE.get("/version", *READERS, under="/people")
async def version(visit: Visit) -> Response:
    """One version, the skill at it, and the effect of going back to it."""
    user, domain, number = visit.user(), visit.domain(), visit.number("version")

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = _logged(con, user, domain)
        then = at_version(diffs, number)
        now = current(visit.api, user, domain, at_version(diffs, diffs[-1].version))
        if then is None or now is None:
            raise Problem(404, "the log has no such version of this skill")
        lines = sorted((line for line in then.attributes if line.tier), key=lambda line: (-line.tier, -line.taken))
        entries = _entries(con, [diff for diff in diffs if diff.version == number], diffs)
        differences = _differences(difference(now, then))
        return {"then": then, "now": now, "lines": lines, "entries": entries, "differences": differences}

    found = await visit.read(reading)
    more = {"may": visit.rights(user), "scale": scale(found["lines"])}
    return visit.show("version.html", user=user, domain=domain, number=number, **more, **found)


def _logged(con: DuckDBPyConnection, user: str, domain: str) -> list[SkillDiff]:
    diffs = read.diffs(con, user, domain)
    if not diffs:
        raise no_skill(domain)
    return diffs


def _entries(con: DuckDBPyConnection, chosen: Sequence[SkillDiff], diffs: Sequence[SkillDiff]) -> list[dict[str, Any]]:
    names = names_of(diffs)
    items = sorted({diff.evidence.item_id for diff in chosen if diff.evidence.item_id})
    titles = read.titles(con, diffs[0].user_id, items)
    return [_entry(diff, names, titles) for diff in reversed(chosen)]


def _entry(diff: SkillDiff, names: dict[str, str], titles: dict[str, str]) -> dict[str, Any]:
    """One version for a template: its cause, its effects as lines, and notes on the rest."""
    effects = [each for each in diff.changes if each.kind not in _COUNTED or each.before != each.after]
    effects.sort(key=lambda each: max(each.before or 0, each.after or 0), reverse=True)
    lines = [_statement(each, names) for each in diff.stated] + [_change(each, names) for each in effects]
    if diff.shifted:
        lines.append(f"The taste {shift_phrase(diff)}: earlier statements are doubtful now")
    if diff.heard is not None and not diff.heard.understood:
        lines.append(f"Not understood: it changed nothing. {diff.heard.explanation}".rstrip())
    notes = [f"Nothing was changed: {refused(diff.refused)}."] if diff.refused and not lines else []
    if counted := len(diff.changes) - len(effects):
        notes.append(f"{counted} {'line counts' if counted == 1 else 'lines count'} a little more or less.")
    return {"diff": diff, "title": _title(diff, titles), "lines": lines, "notes": notes}


def names_of(diffs: Iterable[SkillDiff]) -> dict[str, str]:
    """The words of lines and statements by id, removed ones included."""
    found: dict[str, str] = {}
    for diff in diffs:
        for line in (*(diff.seed or ()), *(each.discovered for each in diff.changes if each.discovered)):
            found[line.attribute_id] = _name(line)
        found |= {each.statement_id: what(each.statement) for each in diff.stated if each.statement}
    return found


def refused(found: Iterable[Refused]) -> str:
    """Why a change had no effect, or not all of it."""
    return "; ".join(dict.fromkeys(_REFUSED.get(each.why.value, each.why.value) for each in found))


def _title(diff: SkillDiff, titles: dict[str, str]) -> str:
    """The cause of a version."""
    actor, heard, item = actor_of(diff), diff.heard, diff.evidence.item_id
    title = titles.get(item, item) if item else ""
    if diff.rolled_back_to is not None:
        return f"{actor or 'A command'} went back to version {diff.rolled_back_to}"
    if actor is not None:
        return actor + {True: " stopped learning", False: " let it learn again", None: " changed it"}[diff.frozen]
    if heard is None:
        return f"Took {title or 'something'}"
    causes = {"correction": "Said in words", "abstention": "Took nothing of a list"}
    cause = causes.get(heard.what, f"A signal of the app: {heard.what}")
    return f"{cause}: “{heard.words}”" if heard.words else f"{cause} · {title}" if title else cause


def _change(each: Change, names: dict[str, str]) -> str:
    name = names.get(each.attribute_id, each.attribute_id)
    before, after = (None if tier is None else SURE[tier] for tier in (each.before, each.after))
    if before != after and None not in (before, after) and each.kind in (*_COUNTED[:2], ChangeKind.SET):
        return f"{name}: from “{before}” to “{after}”"
    is_new = each.kind in (ChangeKind.DISCOVERED, ChangeKind.ADDED, ChangeKind.SET) and after is not None
    return f"{name}: {_CHANGED[each.kind]}" + (f", {after}" if is_new else "")


def _statement(each: StatementChange, names: dict[str, str]) -> str:
    name = names.get(each.statement_id, each.statement_id)
    return f"Understood: {name}" if each.kind is Said.STATED else f"{name}: {_STATED[each.kind]}"


def _name(line: Attribute) -> str:
    return f"{line.value} ({line.dimension})"


def _differences(found: Difference) -> list[tuple[str, list[str]]]:
    """The effect of going back: headings, each with its lines."""
    changed = [(f"{_name(new)}: ", ", ".join(_differing(old, new))) for old, new in found.changed]
    parts = [
        ("Brings back", [f"{_name(line)}, {SURE[line.tier]}" for line in found.added if line.tier]),
        ("Takes away", [f"{_name(line)}, {SURE[line.tier]}" for line in found.gone if line.tier]),
        ("Changes", [name + differing for name, differing in changed if differing]),
    ]
    return [(heading, lines) for heading, lines in parts if lines]


def _differing(old: Attribute, new: Attribute) -> Iterable[str]:
    if old.tier != new.tier:
        yield f"from “{SURE[old.tier]}” to “{SURE[new.tier]}”"
    if old.value != new.value:
        yield f"reads “{old.value}” now, and would read “{new.value}”"
    if old.pinned != new.pinned:
        yield "pinned again" if new.pinned else "no longer pinned"
