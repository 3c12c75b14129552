"""What people change: a line, a whole skill, or something that they say. The actor is the token's name."""

import uuid
from datetime import UTC, datetime
from functools import partial

from pydantic import ValidationError
from starlette.responses import Response

from schemas import Action, ChangeKind, Correction, Said, SkillDiff, Wish
from streams.console.people import words
from streams.console.people.pages import PEOPLE
from streams.console.visit import Visit
from streams.http.problems import Problem, not_valid
from streams.http.skills import command_of
from streams.http.tokens import Scope
from streams.privacy import privacy_of

TAKES = {
    Action.PIN: ("attribute_id",),
    Action.UNPIN: ("attribute_id",),
    Action.REMOVE: ("attribute_id",),
    Action.REWORD: ("attribute_id", "value"),
    Action.SET_TIER: ("attribute_id", "tier"),
    Action.FREEZE: (),
    Action.UNFREEZE: (),
    Action.ROLL_BACK: ("to_version",),
}
"""The actions of the console's forms, and the fields of each."""
_DONE = {
    Action.PIN: "Pinned: it stays, whatever is chosen.",
    Action.UNPIN: "No longer pinned: it may change again.",
    Action.REMOVE: "Removed.",
    Action.REWORD: "Reworded.",
    Action.SET_TIER: "Set.",
    Action.FREEZE: "It learns no more, until you let it.",
    Action.UNFREEZE: "It learns again.",
    Action.ROLL_BACK: "Gone back.",
}
LATER = "It is on its way, and no worker has done it yet. It will be done: load this page again in a while."
OF_A_LINE = frozenset({Action.PIN, Action.UNPIN, Action.SET_TIER})
"""After these the line is still there under its id."""


@PEOPLE.post("/change", needs=[Scope.CHANGE_USER])
async def change(visit: Visit) -> Response:
    """Changes a line or a skill, as `sager policy` does."""
    form = visit.form
    user, domain = visit.demands(Scope.CHANGE_USER, visit.user(form)), visit.domain(form)
    try:
        action = Action(form.get("action", ""))
        fields: dict[str, object] = {name: form[name].strip() for name in TAKES[action]}
    except (KeyError, ValueError):
        raise Problem(400, "the form does not say what to do") from None
    if "to_version" in fields:
        fields["to_version"] = visit.number("to_version", form)
    asked = {"domain": domain, "action": action.value, "reason": form.get("reason", "").strip(), **fields}
    api = visit.api
    command = await visit.read(partial(command_of, asked, user, visit.token.name, api.snapshot.history))
    diff = await visit.change(user, partial(api.changes.carry_out, command))
    said, kind = _told(action, diff)
    line = command.attribute_id
    if diff is not None and action is Action.REWORD:
        line = next((each.attribute_id for each in diff.changes if each.kind is ChangeKind.ADDED), line)
    if line is not None and visit.token.may_read(user) and (action in OF_A_LINE or action is Action.REWORD):
        return visit.go("/line", said, kind, user=user, domain=domain, line=line)
    return visit.go("/person", said, kind, user=user, domain=domain)


@PEOPLE.post("/say", needs=[Scope.CHANGE_USER])
async def say(visit: Visit) -> Response:
    """Says what the person wants or does not want, in their own words."""
    form = visit.form
    user, domain = visit.demands(Scope.CHANGE_USER, visit.user(form)), visit.domain(form)
    text, api = form.get("text", "").strip(), visit.api
    if privacy_of(api.settings).wish(text) is Wish.NOT_REMEMBERED:
        return visit.go("/person", "These words ask not to be remembered: nothing was sent.", "wait", user=user,
                        domain=domain)  # fmt: skip
    try:
        correction = Correction.model_validate(
            {
                "event_id": uuid.uuid4().hex,
                "occurred_at": datetime.now(UTC),
                "user_id": user,
                "domain": domain,
                "text": text,
                "scope": form.get("scope") or None,
            }
        )
    except ValidationError as error:
        raise not_valid(error) from None
    diff = await visit.change(user, partial(api.changes.carry_out, correction))
    said, kind = _heard(diff)
    return visit.go("/person", said, kind, user=user, domain=domain)


def _told(action: Action, diff: SkillDiff | None) -> tuple[str, str]:
    """What a change did, and how well that went."""
    if diff is None:
        return LATER, "wait"
    if diff.refused and not diff.changes and not diff.stated:
        return f"Nothing was changed: {words.refused(diff.refused)}.", "bad"
    left = f" Not all of it: {words.refused(diff.refused)}." if diff.refused else ""
    return f"{_DONE[action]}{left} This is version {diff.version}.", "wait" if left else "good"


def _heard(diff: SkillDiff | None) -> tuple[str, str]:
    """What was understood of somebody's words."""
    if diff is None:
        return LATER, "wait"
    if diff.heard is not None and not diff.heard.understood:
        return f"This was not understood, and changed nothing. {diff.heard.explanation}".rstrip(), "bad"
    known = words.names([diff])
    understood = [known.get(each.statement_id, "") for each in diff.stated if each.kind is Said.STATED]
    taken_back = [each for each in diff.stated if each.kind is Said.WITHDRAWN]
    left_out = "" if diff.heard is None else diff.heard.explanation
    if diff.refused and not diff.stated and not diff.changes:
        return f"Nothing was changed: {words.refused(diff.refused)}. {left_out}".rstrip(), "bad"
    parts = [f"Understood: {', '.join(filter(None, understood))}."] if understood else []
    parts += ["Something said before is taken back."] if taken_back else []
    nothing_else = "Understood." if left_out else "Understood, and nothing changed."
    parts = [*(parts or [nothing_else]), *filter(None, [left_out])]
    return " ".join(parts), "good"
