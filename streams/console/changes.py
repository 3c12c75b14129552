"""Pages that change a user's data: lines, skills, statements, export and erasure."""

from functools import partial
from typing import Any

from starlette.responses import Response

from schemas import Action, Correction, OptOut, SkillChangeKind, SkillDiff, StatementChangeKind
from streams.console.cards import PENDING_NOTICE
from streams.console.pages import PageContext, page
from streams.console.skill import refusal_text
from streams.http.api import new_event
from streams.http.problems import Problem
from streams.http.rights import export_user
from streams.http.skills import command_of
from streams.http.tokens import Scope
from streams.policies import privacy_of
from streams.rights.previews import preview_erasure
from streams.views.sentences import names_of

# The actions of the forms, each with its fields and its notice afterwards.
_ACTIONS: dict[Action, tuple[tuple[str, ...], str]] = {
    Action.PIN: (("attribute_id",), "Pinned: choices cannot change it."),
    Action.UNPIN: (("attribute_id",), "No longer pinned: it may change again."),
    Action.REMOVE: (("attribute_id",), "Removed."),
    Action.REWORD: (("attribute_id", "value"), "Reworded."),
    Action.SET_TIER: (("attribute_id", "tier"), "Set."),
    Action.FREEZE: ((), "It no longer learns, until you allow it again."),
    Action.UNFREEZE: ((), "It learns again."),
    Action.ROLL_BACK: (("to_version",), "Restored."),
}
_KEEP_LINE = (Action.PIN, Action.UNPIN, Action.SET_TIER, Action.REWORD)  # afterwards the line still has a page


@page("POST", "/change", Scope.CHANGE_USER)
async def change(ctx: PageContext) -> Response:
    """Change a line or a skill in the name of the token."""
    form, api = ctx.fields, ctx.api
    user, domain = ctx.user(Scope.CHANGE_USER), ctx.domain()
    try:
        action = Action(form.get("action", ""))
        given: dict[str, Any] = {name: form[name].strip() for name in _ACTIONS[action][0]}
    except (KeyError, ValueError):
        raise Problem(400, "the form does not name an action of the console") from None
    if action is Action.ROLL_BACK:
        given["to_version"] = ctx.number("to_version")
    body = {"domain": domain, "action": action.value, "reason": form.get("reason", "").strip(), **given}
    command = await command_of(api, ctx.token, user, body)
    diff = await api.change(ctx.token, command, SkillDiff)
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


@page("GET", "/export", Scope.READ_USER, under="/people")
async def export(ctx: PageContext) -> Response:
    """Download all data of a user."""
    return await export_user(ctx.api, ctx.token, ctx.user(Scope.READ_USER))


@page("GET", "/forget", Scope.FORGET_USER, under="/people")
@page("POST", "/forget", Scope.FORGET_USER, under="/people")
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
    if diff.refused and not diff.changes and not diff.stated:
        return f"Nothing was changed: {refusal_text(diff.refused)}.", "bad"
    rest = f" Not all of it: {refusal_text(diff.refused)}." if diff.refused else ""
    return f"{_ACTIONS[action][1]}{rest} This is version {diff.version}.", "wait" if rest else "good"


def _understood(diff: SkillDiff | None) -> tuple[str, str]:
    if diff is None:
        return PENDING_NOTICE, "wait"
    explanation = diff.trigger.explanation if diff.trigger else ""
    if diff.trigger is not None and not diff.trigger.understood:
        return f"This was not understood, and changed nothing. {explanation}".rstrip(), "bad"
    if diff.refused and not diff.stated and not diff.changes:
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
