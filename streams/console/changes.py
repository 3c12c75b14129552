"""Changes to a user's data: lines, skills, statements, the export and erasure. The actor is the token's name."""

import uuid
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pydantic import ValidationError
from starlette.responses import Response

from schemas import Action, Correction, OptOut, SkillChangeKind, SkillDiff, StatementChangeKind
from streams.console.cards import LATER
from streams.console.pages import Visit, page
from streams.console.skill import refused
from streams.http.problems import Problem, not_valid
from streams.http.rights import export_file
from streams.http.skills import command_of
from streams.http.tokens import Scope
from streams.privacy import privacy_of
from streams.rights.inventory import forget_request, preview_erasure
from streams.views.sentences import names_of

_ACTIONS: dict[Action, tuple[tuple[str, ...], str]] = {
    Action.PIN: (("attribute_id",), "Pinned: it stays, whatever is chosen."),
    Action.UNPIN: (("attribute_id",), "No longer pinned: it may change again."),
    Action.REMOVE: (("attribute_id",), "Removed."),
    Action.REWORD: (("attribute_id", "value"), "Reworded."),
    Action.SET_TIER: (("attribute_id", "tier"), "Set."),
    Action.FREEZE: ((), "It learns no more, until you let it."),
    Action.UNFREEZE: ((), "It learns again."),
    Action.ROLL_BACK: (("to_version",), "Gone back."),
}
"""The actions of the forms, each with its fields and its notice afterwards."""
_KEEP_LINE = (Action.PIN, Action.UNPIN, Action.SET_TIER, Action.REWORD)  # afterwards the line still has a page


@page("POST", "/change", Scope.CHANGE_USER)
async def change(visit: Visit) -> Response:
    """Change a line or a skill, as `sager policy` does."""
    form, api = visit.fields, visit.api
    user, domain = visit.user(Scope.CHANGE_USER), visit.domain()
    try:
        action = Action(form.get("action", ""))
        given: dict[str, Any] = {name: form[name].strip() for name in _ACTIONS[action][0]}
    except (KeyError, ValueError):
        raise Problem(400, "the form does not name an action of the console") from None
    if action is Action.ROLL_BACK:
        given["to_version"] = visit.number("to_version")
    body = {"domain": domain, "action": action.value, "reason": form.get("reason", "").strip(), **given}
    command = await api.read(visit.token, partial(command_of, body, user, visit.token.name, api.snapshot.history))
    diff = await api.change_skill(visit.token, command)
    line = command.attribute_id
    if diff is not None and action is Action.REWORD:
        line = next((each.attribute_id for each in diff.changes if each.kind is SkillChangeKind.ADDED), line)
    if line is None or action not in _KEEP_LINE or not visit.token.may_read(user):
        return visit.go("/person", *_outcome(action, diff), user=user, domain=domain)
    return visit.go("/line", *_outcome(action, diff), user=user, domain=domain, line=line)


@page("POST", "/say", Scope.CHANGE_USER)
async def say(visit: Visit) -> Response:
    """Send a statement of the user in their own words."""
    user, domain = visit.user(Scope.CHANGE_USER), visit.domain()
    words = visit.fields.get("text", "").strip()
    about = {"user": user, "domain": domain}
    if privacy_of(visit.api.settings).wish(words) is OptOut.NOT_REMEMBERED:
        return visit.go("/person", "These words ask not to be remembered: nothing was sent.", "wait", **about)
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "domain": domain}
    try:
        correction = Correction.model_validate(envelope | {"text": words, "scope": visit.fields.get("scope") or None})
    except ValidationError as error:
        raise not_valid(error) from None
    diff = await visit.api.change_skill(visit.token, correction)
    return visit.go("/person", *_understood(diff), **about)


@page("GET", "/export", Scope.READ_USER, under="/people")
async def export(visit: Visit) -> Response:
    """All data about a user, the file of `sager policy export`."""
    return await export_file(visit.api, visit.token, visit.user(Scope.READ_USER))


@page("GET", "/forget", Scope.FORGET_USER, under="/people")
async def preview(visit: Visit) -> Response:
    """The reach of erasing a user, a domain or a line; nothing is erased."""
    return await _preview(visit)


@page("POST", "/forget", Scope.FORGET_USER, under="/people")
async def forget(visit: Visit) -> Response:
    """Erase, if the user's id is typed."""
    user, domain, line = _target(visit)
    if visit.fields.get("typed", "").strip() != user:
        return await _preview(visit, "What was typed is not the id of the person. Nothing was forgotten.")
    try:
        request = forget_request(user, domain, line, visit.token.name, uuid.uuid4().hex, datetime.now(UTC))
    except ValidationError as error:
        raise not_valid(error) from None
    receipt = await visit.api.forget(visit.token, request)
    notice = (LATER, "wait") if receipt is None else ("Forgotten. A receipt without the name proves it.", "good")
    if domain is not None and visit.token.may_read(user):
        return visit.go("/person", *notice, user=user, domain=domain if line is not None else None)
    return visit.go("/people", *notice)


async def _preview(visit: Visit, wrong: str = "") -> Response:
    user, domain, line = _target(visit)
    found = await visit.api.search(visit.token, partial(preview_erasure, visit.api.settings, user, domain, line))
    shown = {"user": user, "domain": domain, "line": line, "found": found, "wrong": wrong}
    return visit.show("forget.html", 422 if wrong else 200, **shown)


def _target(visit: Visit) -> tuple[str, str | None, str | None]:
    """The user, the domain and its line to erase; None: all."""
    user = visit.user(Scope.FORGET_USER)
    line = visit.line() if "line" in visit.fields else None
    return user, visit.domain() if line is not None or "domain" in visit.fields else None, line


def _outcome(action: Action, diff: SkillDiff | None) -> tuple[str, str]:
    if diff is None:
        return LATER, "wait"
    if diff.refused and not diff.changes and not diff.stated:
        return f"Nothing was changed: {refused(diff.refused)}.", "bad"
    rest = f" Not all of it: {refused(diff.refused)}." if diff.refused else ""
    return f"{_ACTIONS[action][1]}{rest} This is version {diff.version}.", "wait" if rest else "good"


def _understood(diff: SkillDiff | None) -> tuple[str, str]:
    if diff is None:
        return LATER, "wait"
    explanation = diff.heard.explanation if diff.heard else ""
    if diff.heard is not None and not diff.heard.understood:
        return f"This was not understood, and changed nothing. {explanation}".rstrip(), "bad"
    if diff.refused and not diff.stated and not diff.changes:
        return f"Nothing was changed: {refused(diff.refused)}. {explanation}".rstrip(), "bad"
    names = names_of([diff])
    new = [
        names[each.statement_id] for each in diff.stated if each.kind is StatementChangeKind.STATED and each.statement
    ]
    parts = [f"Understood: {', '.join(new)}."] if new else []
    if any(each.kind is StatementChangeKind.WITHDRAWN for each in diff.stated):
        parts.append("Something said before is taken back.")
    parts = parts or ["Understood." if explanation else "Understood, and nothing changed."]
    return " ".join([*parts, explanation]).rstrip(), "good"
