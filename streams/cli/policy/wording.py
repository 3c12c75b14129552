"""Statements, sessions and signals as `sager policy` prints them."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from streams.cli.output import print_rows, printable
from streams.rights.sentences import holds, what

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from schemas import PolicySkill, SkillDiff, Statement, StatementChange

_SIGNS = {"stated": "+", "forgotten": "x", "restored": "<"}


def show_said(skill: "PolicySkill") -> None:
    """Print the statements of a skill and the lines of its sessions."""
    now = datetime.now(UTC)
    rows = [
        {"said": what(said), "words": said.words, "holds": holds(said, skill.shifted, now), "id": said.statement_id}
        for said in skill.stated
    ]
    print_rows(rows, whole=["id"])
    for session in skill.sessions:
        state = "over" if session.until <= now else f"until {session.until:%Y-%m-%d %H:%M} UTC"
        print(printable(f"Session {session.session_id} · {state} · events: {session.events}"))
        for line in session.lines:
            print(printable(f"  {line.value} ({line.dimension})"))


def changed(change: "StatementChange", known: "Mapping[str, Statement]") -> str:
    """Return one change of a statement as a line."""
    kind, said = change.kind.value, change.statement or known.get(change.statement_id)
    words = change.statement_id if said is None else f"{what(said)} [{change.statement_id}]"
    sign = _SIGNS.get(kind, "-")
    if kind != "stated":
        return f"{sign} {words}, {kind}"
    times = f", said {said.times} times" if said is not None and said.times > 1 else ""
    scope = "" if said is None or said.scope.value == "always" else f", scope: {said.scope.value}"
    return f"{sign} {words}{scope}{times}"


def all_said(diffs: "Iterable[SkillDiff]") -> "dict[str, Statement]":
    """Return the statements that a log names, each with its newest words."""
    changes = (change for diff in diffs for change in diff.stated)
    return {change.statement_id: change.statement for change in changes if change.statement is not None}


def heard(diff: "SkillDiff") -> list[tuple[str, str]]:
    """Return the signal, abstention or correction behind a version, and whether it was understood."""
    event = diff.heard
    if event is None:
        return []
    if event.what == "abstention":
        return [("nothing was taken", "the list did not suit; that is no word against its items")]
    if event.what != "correction":
        value = "" if event.value is None else f" {event.value:g}"
        unknown = "" if event.understood else "of no kind that is configured: it changes nothing"
        return [(f"signal {event.what}{value}", unknown)]
    words = f"“{event.words}”" if event.words else "something by a form"
    if event.understood:
        return [(f"said {words}", f"read by {event.by_pattern}" if event.by_pattern else "")]
    return [(f"said {words}", f"not understood: it changes nothing. {event.explanation}".rstrip())]
