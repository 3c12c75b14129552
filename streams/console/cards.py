"""A user's card: its lines in plain words, its log, and changes, each after a preview."""

import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from schemas import Card, CardAction, CardLine
from schemas.cards import FREE
from streams.console.pages import READERS, PageContext, page
from streams.http.cards import NOTHING, card_command, card_of, preview_command
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.output_gate import output_gate
from streams.views.cards import CardLineView, card_line_view, card_versions

PENDING_NOTICE = "It is on its way, and no worker has done it yet. It will be done: load this page again in a while."
# The actions, each with its notice afterwards.
_DONE = {
    "pin": "Pinned: it stays, whatever is said later.",
    "unpin": "No longer pinned: it may change again.",
    "remove": "Removed, and its words are gone from the log.",
    "write": "Written: it stays until they say otherwise.",
}


async def card_for_template(ctx: PageContext, user: str) -> dict[str, Any] | None:
    """The user's card for a template, the surest lines and the newest past ones first; None if there is none."""
    card = await card_of(ctx.api, ctx.token, user)
    if card is None or not (card.lines or card.past):
        return None
    lines, past = ([_described(ctx, line) for line in found] for found in (card.lines, reversed(card.past)))
    says = {line.line_id: line.says for line in (*lines, *past)}
    lines.sort(key=lambda line: -line.certainty)
    return {"version": card.version, "lines": lines, "past": past, "says": says}


@page("GET", "/card/log", *READERS, under="/people")
async def card_log(ctx: PageContext) -> Response:
    """The versions of a card, the newest first."""
    user = ctx.user()
    diffs = await ctx.api.read(ctx.token, lambda: ctx.api.snapshot.card_log(user))
    if not diffs:
        raise Problem(404, f"{NOTHING}, or the snapshot does not have it yet")
    entries, links = ctx.slice_log(card_versions(diffs), lambda each: each.diff.version)
    return ctx.render("log.html", user=user, domain=None, entries=entries[::-1], **links)


@page("GET", "/card/line", *READERS, under="/people")
async def card_preview(ctx: PageContext) -> Response:
    """The effect of pinning or removing a line, or the form that writes one; nothing is sent."""
    user = ctx.user()
    action, line = _target(ctx, await card_of(ctx.api, ctx.token, ctx.user(Scope.CHANGE_USER)))
    shown = None if line is None else _described(ctx, line)
    return ctx.render("card_change.html", user=user, line=shown, action=action)


@page("POST", "/card/change", Scope.CHANGE_USER)
async def change_card(ctx: PageContext) -> Response:
    """Change a card and return to the user's page; a replaced line keeps its domain and dimension."""
    user, form = ctx.user(Scope.CHANGE_USER), ctx.fields
    card = await card_of(ctx.api, ctx.token, user)
    action, line = _target(ctx, card)
    asked: dict[str, Any] = {"line_id": None if line is None else line.line_id}
    if action == "write":
        written = {"stance": form.get("stance", ""), "value": form.get("value", "").strip()}
        place = (FREE, None) if line is None else (line.dimension, line.domain)
        asked |= {"action": CardAction.SET, "line": {**written, "dimension": place[0], "domain": place[1]}}
    else:
        asked |= {"action": CardAction(action), "reason": ""}
    command = card_command(user, ctx.token.name, uuid.uuid4().hex, datetime.now(UTC), asked)
    preview_command(ctx.api, card, command)  # refuses one without effect
    diff = await ctx.api.change_card(ctx.token, command)
    notice = (PENDING_NOTICE, "wait") if diff is None else (_DONE[action], "good")
    return ctx.redirect("/person", *notice, user=user) if ctx.token.can_read(user) else ctx.redirect("/people", *notice)


def _target(ctx: PageContext, card: Card | None) -> tuple[str, CardLine | None]:
    """The action and the line in the fields; None if a new one is to be written."""
    action = ctx.fields.get("action", "")
    if action not in _DONE:
        raise Problem(400, "the form does not name an action of the console")
    if action == "write" and not ctx.fields.get("line"):
        return action, None
    name, lines = ctx.line(), () if card is None else (*card.lines, *card.past)
    found = next((line for line in lines if line.line_id == name), None)
    if found is None:
        raise Problem(404, "the card has no such line any more")
    return action, found


def _described(ctx: PageContext, line: CardLine) -> CardLineView:
    return card_line_view(line, datetime.now(UTC), output_gate(ctx.api.settings))
