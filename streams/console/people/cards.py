"""A user's card: its lines in plain words, its log, and changes, each after a preview."""

import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from operators.cards.fold import with_diff
from operators.cards.words import in_words
from schemas import Card, CardAction, CardChangeKind, CardDiff, CardLine, Strength
from schemas.cards import FREE
from streams.console.pages import PEOPLE, READERS, Visit
from streams.http.cards import NOTHING, card_command, card_of, carry_out, would_be
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.rights.cards import CameOf, CardVersion, UnknownCardLine, card_told, card_versions, line_of_card, line_told
from streams.vouching import vouching_of

ENTRIES = 40
"""Versions on one page of the log."""
LATER = "It is on its way, and no worker has done it yet. It will be done: load this page again in a while."
_STRENGTHS = {
    Strength.SAID: "said plainly",
    Strength.IMPLIED: "said in passing",
    Strength.SET: "written in the console or by a command",
}
_SURE = ((0.75, 3, "certain"), (0.5, 2, "likely"), (0.25, 1, "uncertain"), (0.0, 0, "nearly faded"))
"""From which certainty on, how many of three bars, in which words."""
_CAUSES = {
    CameOf.CONVERSATION: "A conversation",
    CameOf.COMMAND: "A change by a person",
    CameOf.SIGNAL: "What came of something that they took",
}
_CHANGED = {
    CardChangeKind.ADDED: "new",
    CardChangeKind.CONFIRMED: "said again",
    CardChangeKind.CONTRADICTED: "something speaks against it",
    CardChangeKind.OVERTAKEN: "said otherwise since",
    CardChangeKind.WITHDRAWN: "taken back",
    CardChangeKind.MERGED: "said in other words",
    CardChangeKind.REWARDED: "counts a little more or less",
    CardChangeKind.FADED: "faded, as nothing confirmed it for long",
    CardChangeKind.CROWDED_OUT: "left out, as there was no more room",
    CardChangeKind.SET: "written in",
    CardChangeKind.PINNED: "pinned",
    CardChangeKind.UNPINNED: "no longer pinned",
    CardChangeKind.REMOVED: "removed",
    CardChangeKind.FORGOTTEN: "forgotten",
}
_DONE = {
    "pin": "Pinned: it stays, whatever is said later.",
    "unpin": "No longer pinned: it may change again.",
    "remove": "Removed, and its words are gone from the log.",
}
"""The actions with a preview, each with its notice afterwards."""


async def shown_card(visit: Visit, user: str) -> dict[str, Any] | None:
    """The user's card for a template; None if there is none."""
    card = await card_of(visit.api, visit.token, user)
    return _shown(visit, card, datetime.now(UTC)) if card is not None and (card.lines or card.past) else None


@PEOPLE.get("/card/log", *READERS, under="/people")
async def card_log(visit: Visit) -> Response:
    """The versions of a card, the newest first."""
    user = visit.user()
    before = visit.number("before") if "before" in visit.fields else None
    versions = card_versions(await _logged(visit, user))
    until = [each for each in versions if before is None or each.diff.version < before]
    older = until[-ENTRIES].diff.version if len(until) > ENTRIES else None
    entries = [_entry(each) for each in reversed(until[-ENTRIES:])]
    return visit.show("log.html", user=user, domain=None, entries=entries, older=older, before=before)


@PEOPLE.get("/card/version", *READERS, under="/people")
async def card_version(visit: Visit) -> Response:
    """One version of a card, and the card at it."""
    user, number = visit.user(), visit.number("version")
    diffs = await _logged(visit, user)
    card: Card | None = None
    for diff in diffs:
        card = with_diff(card, diff) if diff.version <= number else card
    if card is None or card.version != number:
        raise Problem(404, "the log has no such version of this card")
    entry = next(_entry(each) for each in card_versions(diffs) if each.diff.version == number)
    shown = _shown(visit, card, card.occurred_at)
    return visit.show("card_version.html", user=user, newest=diffs[-1].version, entry_=entry, card=shown)


@PEOPLE.get("/card/line", *READERS, under="/people")
async def card_preview(visit: Visit) -> Response:
    """The effect of pinning or removing a line; nothing is sent."""
    visit.user()
    user, action = visit.user(Scope.CHANGE_USER), _action(visit)
    row = _row(visit, _line(await card_of(visit.api, visit.token, user), visit.line()), datetime.now(UTC))
    return visit.show("card_change.html", user=user, row=row, action=action)


@PEOPLE.get("/card/write", *READERS, under="/people")
async def card_form(visit: Visit) -> Response:
    """The form for a line: a new one, or one that replaces another."""
    visit.user()
    user, row = visit.user(Scope.CHANGE_USER), None
    if visit.fields.get("line"):
        row = _row(visit, _line(await card_of(visit.api, visit.token, user), visit.line()), datetime.now(UTC))
    return visit.show("card_change.html", user=user, row=row, action="write")


@PEOPLE.post("/card/change", Scope.CHANGE_USER)
async def change_card(visit: Visit) -> Response:
    """Pin, unpin or remove a line of a card, as `sager card` does."""
    action = _action(visit)
    command = {"action": CardAction(action), "line_id": visit.line(), "reason": ""}
    return await _send(visit, command, _DONE[action])


@PEOPLE.post("/card/write", Scope.CHANGE_USER)
async def write_card(visit: Visit) -> Response:
    """Write a line, as `sager card set` does; a replacement keeps the domain and dimension of its predecessor."""
    user, form = visit.user(Scope.CHANGE_USER), visit.fields
    line_id = visit.line() if form.get("line") else None
    before = None if line_id is None else _line(await card_of(visit.api, visit.token, user), line_id)
    line = {"stance": form.get("stance", ""), "value": form.get("value", "").strip()}
    line |= {"dimension": before.dimension, "domain": before.domain} if before else {"dimension": FREE, "domain": None}
    command = {"action": CardAction.SET, "line_id": line_id, "line": line}
    return await _send(visit, command, "Written: it stays until they say otherwise.")


async def _send(visit: Visit, asked: dict[str, Any], done: str) -> Response:
    """Send a command and wait for its result, then return to the user's page."""
    user = visit.user(Scope.CHANGE_USER)
    command = card_command(user, visit.token.name, uuid.uuid4().hex, datetime.now(UTC), asked)
    would_be(visit.api, await card_of(visit.api, visit.token, user), command)  # refuses one without effect
    diff = await carry_out(visit.api, visit.token, command)
    notice = (LATER, "wait") if diff is None else (done, "good")
    return visit.go("/person", *notice, user=user) if visit.token.may_read(user) else visit.go("/people", *notice)


async def _logged(visit: Visit, user: str) -> list[CardDiff]:
    diffs = await visit.api.read(visit.token, lambda: visit.api.snapshot.card_log(user))
    if not diffs:
        raise Problem(404, f"{NOTHING}, or the snapshot does not have it yet")
    return diffs


def _action(visit: Visit) -> str:
    action = visit.fields.get("action", "")
    if action not in _DONE:
        raise Problem(400, "the form does not name an action of the console")
    return action


def _line(card: Card | None, line_id: str) -> CardLine:
    try:
        return line_of_card(card, line_id)
    except UnknownCardLine:
        raise Problem(404, "the card has no such line any more") from None


def _shown(visit: Visit, card: Card, at: datetime) -> dict[str, Any]:
    """A card as of a moment: the surest lines first, and replaced lines with their successors, the newest first."""
    found = {line.line_id: line for line in (*card.lines, *card.past)}
    ranked = [each.line_id for each in card_told(card, at, vouching_of(visit.api.settings)).lines]
    ranked += [line.line_id for line in card.lines if line.line_id not in ranked]
    past = [(line, in_words(line), found.get(line.overtaken_by or "")) for line in reversed(card.past)]
    return {
        "version": card.version,
        "changed_at": card.occurred_at,
        "rows": [_row(visit, found[line_id], at) for line_id in ranked],
        "past": [(line, words, in_words(successor) if successor else "") for line, words, successor in past],
    }


def _row(visit: Visit, line: CardLine, at: datetime) -> dict[str, Any]:
    """One line for a template, with its certainty at a moment."""
    told = line_told(line, at, vouching_of(visit.api.settings))
    _, bars, sure = next(step for step in _SURE if told.certainty >= step[0])
    strength = _STRENGTHS[line.strength] + (f", {line.times} times" if line.times > 1 else "")
    return {
        "line": line,
        "bars": bars,
        "sure": sure,
        "strength": strength,
        "says": told.says,
        "held_back": told.held_back,
    }


def _entry(version: CardVersion) -> dict[str, Any]:
    lines = [f"{words}: {_CHANGED[change.kind]}" for change, words in version.changes]
    notes = [f"Not kept: {'; '.join(version.not_kept)}."] if version.not_kept else []
    return {"diff": version.diff, "title": _CAUSES[version.came_of], "lines": lines, "notes": notes}
