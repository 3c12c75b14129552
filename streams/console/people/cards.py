"""A user's card: its lines in plain words, its log, and changes, each after a preview."""

import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from operators.cards.fold import with_diff
from schemas import Card, CardAction, CardDiff, CardLine
from schemas.cards import FREE
from streams.console.pages import READERS, Visit, page
from streams.http.cards import NOTHING, card_command, card_of, would_be
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.rights.cards import ToldCardLine, UnknownCardLine, card_versions, line_of_card, line_told
from streams.vouching import vouching_of

ENTRIES = 40
"""Versions on one page of the log."""
LATER = "It is on its way, and no worker has done it yet. It will be done: load this page again in a while."
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


@page("GET", "/card/log", *READERS, under="/people")
async def card_log(visit: Visit) -> Response:
    """The versions of a card, the newest first."""
    user = visit.user()
    before = visit.number("before") if "before" in visit.fields else None
    versions = card_versions(await _logged(visit, user))
    until = [each for each in versions if before is None or each.diff.version < before]
    older = until[-ENTRIES].diff.version if len(until) > ENTRIES else None
    entries = until[-ENTRIES:][::-1]
    return visit.show("log.html", user=user, domain=None, entries=entries, older=older, before=before)


@page("GET", "/card/version", *READERS, under="/people")
async def card_version(visit: Visit) -> Response:
    """One version of a card, and the card at it."""
    user, number = visit.user(), visit.number("version")
    diffs = await _logged(visit, user)
    card: Card | None = None
    for diff in diffs:
        card = with_diff(card, diff) if diff.version <= number else card
    if card is None or card.version != number:
        raise Problem(404, "the log has no such version of this card")
    entry = next(each for each in card_versions(diffs) if each.diff.version == number)
    shown = _shown(visit, card, card.occurred_at)
    return visit.show("card_version.html", user=user, newest=diffs[-1].version, entry=entry, card=shown)


@page("GET", "/card/line", *READERS, under="/people")
async def card_preview(visit: Visit) -> Response:
    """The effect of pinning or removing a line; nothing is sent."""
    user, action = visit.user(), _action(visit)
    line = _line(await card_of(visit.api, visit.token, visit.user(Scope.CHANGE_USER)), visit.line())
    return visit.show("card_change.html", user=user, line=_described(visit, line, datetime.now(UTC)), action=action)


@page("GET", "/card/write", *READERS, under="/people")
async def card_form(visit: Visit) -> Response:
    """The form for a line: a new one, or one that replaces another."""
    user, line = visit.user(), None
    visit.user(Scope.CHANGE_USER)
    if visit.fields.get("line"):
        line = _described(visit, _line(await card_of(visit.api, visit.token, user), visit.line()), datetime.now(UTC))
    return visit.show("card_change.html", user=user, line=line, action="write")


@page("POST", "/card/change", Scope.CHANGE_USER)
async def change_card(visit: Visit) -> Response:
    """Pin, unpin or remove a line of a card."""
    action = _action(visit)
    return await _send(visit, {"action": CardAction(action), "line_id": visit.line(), "reason": ""}, _DONE[action])


@page("POST", "/card/write", Scope.CHANGE_USER)
async def write_card(visit: Visit) -> Response:
    """Write a line; a replacement keeps the domain and dimension of its predecessor."""
    user, form = visit.user(Scope.CHANGE_USER), visit.fields
    line_id = visit.line() if form.get("line") else None
    before = None if line_id is None else _line(await card_of(visit.api, visit.token, user), line_id)
    line: dict[str, Any] = {"stance": form.get("stance", ""), "value": form.get("value", "").strip()}
    line |= {"dimension": before.dimension, "domain": before.domain} if before else {"dimension": FREE, "domain": None}
    command = {"action": CardAction.SET, "line_id": line_id, "line": line}
    return await _send(visit, command, "Written: it stays until they say otherwise.")


async def _send(visit: Visit, asked: dict[str, Any], done: str) -> Response:
    """Send a command and wait for its result, then return to the user's page."""
    user = visit.user(Scope.CHANGE_USER)
    command = card_command(user, visit.token.name, uuid.uuid4().hex, datetime.now(UTC), asked)
    would_be(visit.api, await card_of(visit.api, visit.token, user), command)  # refuses one without effect
    diff = await visit.api.change_card(visit.token, command)
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
    """A card as of a moment: the surest lines first, and replaced lines, the newest first."""
    lines, past = ([_described(visit, line, at) for line in found] for found in (card.lines, reversed(card.past)))
    says = {line.line_id: line.says for line in (*lines, *past)}
    lines.sort(key=lambda line: -line.certainty)
    return {"version": card.version, "lines": lines, "past": past, "says": says}


def _described(visit: Visit, line: CardLine, at: datetime) -> ToldCardLine:
    return line_told(line, at, vouching_of(visit.api.settings))
