"""Pages that change a user's data: skills, statements, cards, export and erasure."""

from functools import partial
from typing import Any

from starlette.responses import Response

from operators.cards.lines import describe_rejection
from operators.cards.merge import apply_command
from schemas import Action, Correction, OptOut, SkillChangeKind, SkillDiff, StatementChangeKind
from schemas.cards import FREE, Card, CardAction, CardCommand, CardDiff, CardLine
from streams.console.pages import PageContext, page
from streams.console.skill import described, refusal_text
from streams.http.api import new_event
from streams.http.problems import Problem
from streams.http.rights import export_user
from streams.http.skills import READERS, card_of, command_of
from streams.http.tokens import Scope
from streams.policies import privacy_of
from streams.rights.previews import preview_erasure
from streams.views.phrases import names_of

PENDING_NOTICE = "Your change is on its way. Load this page again in a moment to see it."
# The actions of a skill's forms, each with its notice afterwards.
_ACTIONS = {
    Action.PIN: "Pinned: choices cannot change it.",
    Action.UNPIN: "No longer pinned: it may change again.",
    Action.REMOVE: "Removed.",
    Action.REWORD: "Reworded.",
    Action.SET_TIER: "Set.",
    Action.FREEZE: "It no longer learns, until you allow it again.",
    Action.UNFREEZE: "It learns again.",
    Action.ROLL_BACK: "Restored.",
}
_FIELDS = ("attribute_id", "value", "tier", "reason")  # of these forms, as in a command
_KEEP_LINE = (Action.PIN, Action.UNPIN, Action.SET_TIER, Action.REWORD)  # afterwards the line still has a page
# The actions of a card's forms, each with its notice afterwards.
_CARD_ACTIONS = {
    "pin": "Pinned: later conversations cannot change it.",
    "unpin": "No longer pinned: it may change again.",
    "remove": "Removed, and its words are gone from the log.",
    "write": "Written: it stays until they say otherwise.",
}


@page("POST", "/change", Scope.CHANGE_USER)
async def change(ctx: PageContext) -> Response:
    """Change a line or a skill in the name of the token."""
    user, domain = ctx.user(Scope.CHANGE_USER), ctx.domain()
    action = Action(ctx.choice("action", _ACTIONS))
    body: dict[str, Any] = {name: ctx.fields[name].strip() for name in _FIELDS if name in ctx.fields}
    if action is Action.ROLL_BACK:
        body["to_version"] = ctx.number("to_version")
    command = await command_of(ctx.api, ctx.token, user, {**body, "domain": domain, "action": action.value})
    diff = await ctx.api.change(ctx.token, command, SkillDiff)
    line = command.attribute_id
    if diff is not None and action is Action.REWORD:
        line = next((each.attribute_id for each in diff.changes if each.kind is SkillChangeKind.ADDED), line)
    if line is None or action not in _KEEP_LINE or not ctx.token.can_read(user):
        return ctx.redirect("/person", *_outcome(action, diff), user=user, domain=domain)
    return ctx.redirect("/line", *_outcome(action, diff), user=user, domain=domain, line=line)


@page("POST", "/statements", Scope.CHANGE_USER)
async def state_preference(ctx: PageContext) -> Response:
    """Send a statement in the user's own words."""
    user, domain = ctx.user(Scope.CHANGE_USER), ctx.domain()
    words = ctx.fields.get("text", "").strip()
    about = {"user": user, "domain": domain}
    if privacy_of(ctx.api.settings).opt_out(words) is OptOut.NOT_REMEMBERED:
        return ctx.redirect("/person", "You asked not to be remembered, so nothing was sent.", "wait", **about)
    fields = {"user_id": user, "domain": domain, "text": words, "scope": ctx.fields.get("scope") or None}
    correction = new_event(Correction, fields)
    diff = await ctx.api.change(ctx.token, correction, SkillDiff)
    return ctx.redirect("/person", *_understood(diff), **about)


@page("GET", "/card/line", *READERS)
async def card_preview(ctx: PageContext) -> Response:
    """Preview a change of a line, or show a form."""
    user = ctx.user()
    action, line = _target(ctx, await card_of(ctx.api, ctx.token, ctx.user(Scope.CHANGE_USER)))
    shown = None if line is None else described(ctx, line)
    return ctx.render("card_change.html", user=user, line=shown, action=action)


@page("POST", "/card/change", Scope.CHANGE_USER)
async def change_card(ctx: PageContext) -> Response:
    """Change a card and return to the user's page."""
    user, form = ctx.user(Scope.CHANGE_USER), ctx.fields
    card = await card_of(ctx.api, ctx.token, user)
    action, line = _target(ctx, card)
    given: dict[str, Any] = {"user_id": user, "actor": ctx.token.name, "line_id": line and line.line_id}
    if action == "write":
        written = {"stance": form.get("stance", ""), "value": form.get("value", "").strip()}
        # A replacement keeps the domain and dimension of the line.
        dimension, domain = (FREE, None) if line is None else (line.dimension, line.domain)
        given |= {"action": CardAction.SET, "line": {**written, "dimension": dimension, "domain": domain}}
    else:
        given |= {"action": CardAction(action), "reason": ""}
    command = new_event(CardCommand, given)
    effect = apply_command(card, command, None, privacy_of(ctx.api.settings))
    if effect is None or not effect.changes:  # no worker would answer
        private = ", ".join(describe_rejection(each.kind) for each in effect.not_kept) if effect else ""
        raise Problem(409, f"nothing was changed: {f'{private} is not kept' if private else 'it is so already'}")
    diff = await ctx.api.change(ctx.token, command, CardDiff)
    notice = (PENDING_NOTICE, "wait") if diff is None else (_CARD_ACTIONS[action], "good")
    return ctx.redirect("/person", *notice, user=user) if ctx.token.can_read(user) else ctx.redirect("/people", *notice)


def _target(ctx: PageContext, card: Card | None) -> tuple[str, CardLine | None]:
    """Return the action and its line; None for a new one."""
    action = ctx.choice("action", _CARD_ACTIONS)
    if action == "write" and not ctx.fields.get("line"):
        return action, None
    name, lines = ctx.line(), () if card is None else (*card.lines, *card.past)
    found = next((line for line in lines if line.line_id == name), None)
    if found is None:
        raise Problem(404, "the card has no such line any more")
    return action, found


@page("GET", "/export", Scope.READ_USER)
async def export(ctx: PageContext) -> Response:
    """Download all data of a user."""
    return await export_user(ctx.api, ctx.token, ctx.user(Scope.READ_USER))


@page("GET", "/forget", Scope.FORGET_USER)
@page("POST", "/forget", Scope.FORGET_USER)
async def forget(ctx: PageContext) -> Response:
    """Preview an erasure; carry it out with the user's id."""
    user = ctx.user(Scope.FORGET_USER)
    line = ctx.line() if "line" in ctx.fields else None
    domain = ctx.domain() if line is not None or "domain" in ctx.fields else None
    # An address never erases: it could come from a link of another site.
    is_form = ctx.page.method == "POST"
    if not is_form or ctx.fields.get("typed", "").strip() != user:
        found = await ctx.api.search(ctx.token, partial(preview_erasure, ctx.api.settings, user, domain, line))
        wrong = "That is not the id of this person. Nothing was erased." if is_form else ""
        shown = {"user": user, "domain": domain, "line": line, "found": found, "wrong": wrong}
        return ctx.render("forget.html", 422 if wrong else 200, **shown)
    _, receipt = await ctx.api.forget(ctx.token, user, domain, line)
    notice = (PENDING_NOTICE, "wait") if receipt is None else ("Erased. A receipt without the name proves it.", "good")
    if domain is not None and ctx.token.can_read(user):
        return ctx.redirect("/person", *notice, user=user, domain=domain if line is not None else None)
    return ctx.redirect("/people", *notice)


def _outcome(action: Action, diff: SkillDiff | None) -> tuple[str, str]:
    if diff is None:
        return PENDING_NOTICE, "wait"
    if _has_no_effect(diff):
        return f"Nothing was changed: {refusal_text(diff.refused)}.", "bad"
    rest = f" Not all of it: {refusal_text(diff.refused)}." if diff.refused else ""
    return f"{_ACTIONS[action]}{rest} This is version {diff.version}.", "wait" if rest else "good"


def _understood(diff: SkillDiff | None) -> tuple[str, str]:
    if diff is None:
        return PENDING_NOTICE, "wait"
    explanation = diff.trigger.explanation if diff.trigger else ""
    if diff.trigger is not None and not diff.trigger.understood:
        return f"This was not understood, and changed nothing. {explanation}".rstrip(), "bad"
    if _has_no_effect(diff):
        return f"Nothing was changed: {refusal_text(diff.refused)}. {explanation}".rstrip(), "bad"
    names = names_of([diff])
    new = [
        names[each.statement_id] for each in diff.stated if each.kind is StatementChangeKind.STATED and each.statement
    ]
    parts = [f"Understood: {', '.join(new)}."] if new else []
    if any(each.kind is StatementChangeKind.WITHDRAWN for each in diff.stated):
        parts.append("An earlier statement was taken back.")
    parts = parts or ["Understood." if explanation else "Understood, and nothing changed."]
    return " ".join([*parts, explanation]).rstrip(), "good"


def _has_no_effect(diff: SkillDiff) -> bool:
    return bool(diff.refused) and not diff.changes and not diff.stated
