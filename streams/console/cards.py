"""Pages of a card: lines, log, and changes after a preview."""

from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from operators.cards.lines import describe_rejection
from operators.cards.merge import apply_command
from schemas import Card, CardAction, CardCommand, CardDiff, CardLine
from schemas.cards import FREE
from streams.analytics import read
from streams.console.pages import READERS, PageContext, page
from streams.http.api import Api, new_event
from streams.http.problems import Problem
from streams.http.skills import NOTHING, card_of
from streams.http.tokens import Scope
from streams.policies import output_gate, privacy_of
from streams.views.cards import CardLineView, card_line_view, card_versions

PENDING_NOTICE = "Your change is on its way. Load this page again in a moment to see it."
# The actions, each with its notice afterwards.
_DONE = {
    "pin": "Pinned: later conversations cannot change it.",
    "unpin": "No longer pinned: it may change again.",
    "remove": "Removed, and its words are gone from the log.",
    "write": "Written: it stays until they say otherwise.",
}


async def card_for_template(ctx: PageContext, user: str) -> dict[str, Any] | None:
    """Return the card for a template, surest lines first; None if empty."""
    card = await card_of(ctx.api, ctx.token, user)
    if card is None or not (card.lines or card.past):
        return None
    lines, past = ([_described(ctx, line) for line in found] for found in (card.lines, reversed(card.past)))
    says = {line.line_id: line.says for line in (*lines, *past)}
    lines.sort(key=lambda line: -line.certainty)
    return {"version": card.version, "lines": lines, "past": past, "says": says}


@page("GET", "/card/log", *READERS, under="/people")
async def card_log(ctx: PageContext) -> Response:
    """Show the versions of a card, newest first."""
    user = ctx.user()
    diffs = await ctx.read(lambda con: read.card_diffs(con, user))
    if not diffs:
        raise Problem(404, f"{NOTHING}, or the snapshot does not have it yet")
    entries, links = ctx.slice_log(card_versions(diffs), lambda each: each.diff.version)
    return ctx.render("log.html", user=user, domain=None, entries=entries[::-1], **links)


@page("GET", "/card/line", *READERS, under="/people")
async def card_preview(ctx: PageContext) -> Response:
    """Preview a change of a line, or show a form."""
    user = ctx.user()
    action, line = _target(ctx, await card_of(ctx.api, ctx.token, ctx.user(Scope.CHANGE_USER)))
    shown = None if line is None else _described(ctx, line)
    return ctx.render("card_change.html", user=user, line=shown, action=action)


@page("POST", "/card/change", Scope.CHANGE_USER)
async def change_card(ctx: PageContext) -> Response:
    """Change a card and return to the user's page."""
    user, form = ctx.user(Scope.CHANGE_USER), ctx.fields
    card = await card_of(ctx.api, ctx.token, user)
    action, line = _target(ctx, card)
    given: dict[str, Any] = {"line_id": None if line is None else line.line_id}
    if action == "write":
        written = {"stance": form.get("stance", ""), "value": form.get("value", "").strip()}
        # A replacement keeps the domain and dimension of the line.
        dimension, domain = (FREE, None) if line is None else (line.dimension, line.domain)
        given |= {"action": CardAction.SET, "line": {**written, "dimension": dimension, "domain": domain}}
    else:
        given |= {"action": CardAction(action), "reason": ""}
    command = new_event(CardCommand, {**given, "user_id": user, "actor": ctx.token.name})
    _check_effect(ctx.api, card, command)
    diff = await ctx.api.change(ctx.token, command, CardDiff)
    notice = (PENDING_NOTICE, "wait") if diff is None else (_DONE[action], "good")
    return ctx.redirect("/person", *notice, user=user) if ctx.token.can_read(user) else ctx.redirect("/people", *notice)


def _target(ctx: PageContext, card: Card | None) -> tuple[str, CardLine | None]:
    """Return the action and its line; None for a new one."""
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


def _check_effect(api: Api, card: Card | None, command: CardCommand) -> None:
    """Refuse a command without effect; no worker would answer it."""
    diff = apply_command(card, command, None, privacy_of(api.settings))
    if diff is None or not diff.changes:
        private = ", ".join(describe_rejection(each.kind) for each in diff.not_kept) if diff else ""
        raise Problem(409, f"nothing was changed: {f'{private} is not kept' if private else 'it is so already'}")


def _described(ctx: PageContext, line: CardLine) -> CardLineView:
    return card_line_view(line, datetime.now(UTC), output_gate(ctx.api.settings))
