"""How `sager policy` tells what a person said, for how long it holds, and what became of it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from streams.cli.output import printable, row, table
from streams.rights.said import holds, what

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console

    from schemas import PolicySkill, Session, SkillDiff, Statement, StatementChange

HEADING = "Said"
CORRECTION, ABSTENTION = "correction", "abstention"
_SIGNS = {
    "stated": "+",
    "withdrawn": "-",
    "removed": "-",
    "expired": "-",
    "full": "-",
    "forgotten": "x",
    "restored": "<",
}


def show_said(out: "Console", skill: "PolicySkill", now: datetime | None = None) -> None:
    """Print the statements of a skill and what its sessions add, if there are any."""
    now = now or datetime.now(UTC)
    if skill.stated:
        made = table(HEADING, "words", "holds", "id", whole=("id",))
        for said in skill.stated:
            over = said.until is not None and said.until <= now
            words = f"“{said.words}”" if said.words else ""
            cells = [what(said), words, holds(said, skill.shifted, now), said.statement_id]
            row(made, cells, "dim" if over or said.since < skill.shifted else None)
        out.print(made)
    for session in skill.sessions:
        _show_session(out, session, now)


def changed(change: "StatementChange", known: "Mapping[str, Statement]") -> str:
    """One change of a statement as a line: what, and what became of it."""
    said = change.statement or known.get(change.statement_id)
    told = change.statement_id if said is None else f"{what(said)} [{change.statement_id}]"
    if change.kind.value != "stated":
        return f"{_SIGNS[change.kind.value]} {told}, {change.kind.value}"
    times = f", said {said.times} times" if said is not None and said.times > 1 else ""
    scope = "" if said is None or said.scope.value == "always" else f", for {_for(said)}"
    return f"{_SIGNS['stated']} {told}{scope}{times}"


def all_said(diffs: "Iterable[SkillDiff]") -> "dict[str, Statement]":
    """Each statement that a log names, as it was last said."""
    found: dict[str, Statement] = {}
    for diff in diffs:
        found.update({change.statement_id: change.statement for change in diff.stated if change.statement is not None})
    return found


def heard(diff: "SkillDiff") -> list[tuple[str, str]]:
    """What a version answers where that is no choice and no command, and whether it was understood."""
    told = diff.heard
    if told is None:
        return []
    value = "" if told.value is None else f" {told.value:g}"
    if told.what not in (CORRECTION, ABSTENTION):
        unknown = "" if told.understood else "of no kind that is configured: it changes nothing"
        return [(f"signal {told.what}{value}", unknown)]
    if told.what == ABSTENTION:
        return [("nothing was taken", "the list did not suit; that is no word against its items")]
    words = f"“{told.words}”" if told.words else "by a form"
    if not told.understood and not told.words:
        return [("said something", f"not understood: it changes nothing. {told.explanation}".rstrip())]
    if not told.understood:
        return [(f"said {words}", f"not understood: it changes nothing. {told.explanation}".rstrip())]
    return [(f"said {words}", f"read by {told.by_pattern}" if told.by_pattern else "")]


def _show_session(out: "Console", session: "Session", now: datetime) -> None:
    from schemas import ONE  # noqa: PLC0415

    state = "over" if session.until <= now else f"until {session.until:%Y-%m-%d %H:%M} UTC"
    events = "event" if session.events == 1 else "events"
    heading = f"Session {session.session_id} · {state} · {session.events} {events}"
    if not session.lines:
        out.print(printable(heading), markup=False)
        return
    made = table(heading, "taken", "chance", whole=("taken", "chance"))
    for line in session.lines:
        cells = [f"{line.value} ({line.dimension})", f"{line.taken / ONE:.1f}", f"{line.expected / ONE:.1f}"]
        row(made, cells, "dim" if session.until <= now else None)
    out.print(made)


def _for(said: "Statement") -> str:
    return "now" if said.scope.value == "now" else "this session"
