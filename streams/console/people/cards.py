"""Changing a person's card: each button leads to a preview, and what that sends is done."""

import uuid

from starlette.responses import Response

from schemas import Card, CardAction, CardCommand, CardLine
from schemas.cards import FREE
from streams.console.people.card_shown import card_row
from streams.console.people.changing import LATER
from streams.console.people.lines import LINE
from streams.console.people.pages import PEOPLE, READERS, UNDER, rights
from streams.console.visit import Visit, parsed
from streams.http.cards import card_command, card_of, carry_out, now, would_be
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.rights.cards import UnknownCardLine, line_of_card
from streams.vouching import vouching_of

ACTIONS = {CardAction.PIN, CardAction.UNPIN, CardAction.REMOVE}
"""What the console's buttons do; each is previewed."""
DOES = {
    CardAction.PIN: ("Keep this line", "It does not fade any more, and nothing pushes it out.", "Pin it"),
    CardAction.UNPIN: ("Let this line change", "It fades again unless it is confirmed.", "Unpin it"),
    CardAction.REMOVE: (
        "Remove this line",
        "It goes from the card, and its words from the log too. There is no way back.",
        "Remove it",
    ),
}
DONE = {
    CardAction.PIN: "Pinned: it stays, whatever is said later.",
    CardAction.UNPIN: "No longer pinned: it may change again.",
    CardAction.REMOVE: "Removed, and its words are gone from the log.",
}


@PEOPLE.get("/card/line", needs=READERS, under=UNDER)
async def preview_of_card(visit: Visit) -> Response:
    """What pinning or removing a line of a card would do; nothing is sent."""
    user = visit.reads(visit.demands(Scope.CHANGE_USER, visit.user()))
    action, line_id = _asked(visit.query)
    card = await card_of(visit.api, visit.token, user)
    title, about, button = DOES[action]
    return visit.page(
        "people/card_line.html",
        user=user,
        row=card_row(_line(card, line_id), now(), vouching_of(visit.api.settings)),
        action=action.value,
        title=title,
        about=about,
        button=button,
        may=rights(visit, user),
    )


@PEOPLE.post("/card/change", needs=[Scope.CHANGE_USER])
async def change_card(visit: Visit) -> Response:
    """Pins, unpins or removes a line of a card, as `sager card` does."""
    user = visit.demands(Scope.CHANGE_USER, visit.user(visit.form))
    action, line_id = _asked(visit.form)
    asked = {"action": action, "line_id": line_id, "reason": visit.form.get("reason", "").strip()}
    command = card_command(user, visit.token.name, uuid.uuid4().hex, now(), asked)
    return await _sent(visit, command, await card_of(visit.api, visit.token, user), DONE[action])


@PEOPLE.get("/card/write", needs=READERS, under=UNDER)
async def form_of_card(visit: Visit) -> Response:
    """A form for a line: a new one, or one that takes the place of another."""
    user = visit.reads(visit.demands(Scope.CHANGE_USER, visit.user()))
    row = None
    if visit.query.get("line"):
        card, line_id = await card_of(visit.api, visit.token, user), parsed(LINE, visit.query["line"], "line")
        row = card_row(_line(card, line_id), now(), vouching_of(visit.api.settings))
    return visit.page("people/card_write.html", user=user, row=row)


@PEOPLE.post("/card/write", needs=[Scope.CHANGE_USER])
async def write_on_card(visit: Visit) -> Response:
    """Writes a line, as `sager card set` does; one in the place of another holds where that one held."""
    user = visit.demands(Scope.CHANGE_USER, visit.user(visit.form))
    card = await card_of(visit.api, visit.token, user)
    line_id = parsed(LINE, visit.form["line"], "line") if visit.form.get("line") else None
    before = None if line_id is None else _line(card, line_id)
    line = {
        "stance": visit.form.get("stance", ""),
        "value": visit.form.get("value", "").strip(),
        "dimension": FREE if before is None else before.dimension,
        "domain": None if before is None else before.domain,
    }
    asked = {"action": CardAction.SET, "line_id": line_id, "line": line}
    command = card_command(user, visit.token.name, uuid.uuid4().hex, now(), asked)
    return await _sent(visit, command, card, "Written: it stays until they say otherwise.")


async def _sent(visit: Visit, command: CardCommand, card: Card | None, done: str) -> Response:
    """Has a command carried out, and goes back to the person."""
    user = command.user_id
    would_be(visit.api, card, command)
    diff = await carry_out(visit.api, visit.token, command)
    said, kind = (LATER, "wait") if diff is None else (done, "good")
    return visit.go("/person", said, kind, user=user) if visit.token.may_read(user) else visit.go("/people", said, kind)


def _asked(values: dict[str, str]) -> tuple[CardAction, str]:
    """What is to be done, and with which line."""
    try:
        action = CardAction(values.get("action", ""))
    except ValueError:
        action = CardAction.SET
    if action not in ACTIONS:
        raise Problem(400, "the form does not say what to do")
    return action, parsed(LINE, values.get("line", ""), "line")


def _line(card: Card | None, line_id: str) -> CardLine:
    try:
        return line_of_card(card, line_id)
    except UnknownCardLine:
        raise Problem(404, "the card has no such line any more") from None
