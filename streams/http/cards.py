"""A person's card: their statements about themselves in conversations, and changes to it."""

import uuid
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import Field, ValidationError

from operators.cards.views import as_text
from operators.tokens import count_tokens
from schemas import Card, CardAction, CardCommand, CardDiff, CardStated, Model
from schemas.fields import AttributeId, Text
from streams.http.api import Api, TheApi
from streams.http.problems import Problem, not_valid
from streams.http.routing import Body, DomainQuery, TheToken, UserPath, as_json, needs, refuse, router
from streams.http.tokens import Scope, Token
from streams.privacy import privacy_of
from streams.rights.cards import NoEffect, ToldCard, card_told, effect_of
from streams.vouching import vouching_of

NOTHING = "nothing is on a card of this person yet"
TEXT_TOKENS, MOST_TOKENS = 300, 4_096
_READERS = (Scope.READ_USER, Scope.READ_ALL)
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

routes = router("cards")


class CardCommandBody(Body):
    """A change and its reason. `set` takes `line`, and `line_id` to take that line's place."""

    action: CardAction
    line_id: AttributeId | None = None
    line: CardStated | None = None
    reason: Annotated[str, Field(max_length=300)] = ""
    confirm: str | None = Field(default=None, description="remove: the line's id again, as there is no way back.")


class CardCommanded(Model):
    """The outcome of a command."""

    event_id: str
    carried_out: bool = Field(description="False: accepted, and not carried out yet.")
    version: int | None = Field(default=None, description="The card's version afterwards.")
    diff: CardDiff | None = Field(default=None, description="Only for tokens that may read the user.")


@routes.get(
    "/v1/users/{user}/card",
    dependencies=[needs(Scope.READ_SLIM, *_READERS)],
    response_model=ToldCard,
    responses=_TEXT,
)
async def card(
    api: TheApi,
    token: TheToken,
    user: UserPath,
    request: Annotated[Text | None, Query(description="The person's request now.")] = None,
    budget_tokens: Annotated[int | None, Query(ge=1, le=MOST_TOKENS, description="The maximum length.")] = None,
    domain: DomainQuery = None,
    form: Annotated[Literal["json", "text"], Query(alias="format", description="`text`: for a prompt.")] = "json",
) -> Response:
    """The card of a person, line by line, each with its evidence and the reason why it is shown.

    With `format=text` the lines for a prompt, of at most `budget_tokens` (300 by default), which a token with
    `read-slim` may have too. As fresh as its topic: milliseconds.
    """
    if form == "json" and not token.may_read(user):
        raise refuse(_READERS)
    found = await card_of(api, token, user)
    if found is None:
        raise Problem(404, NOTHING)
    about: dict[str, Any] = {"request": request or "", "domain": domain}
    at, vouching = datetime.now(UTC), vouching_of(api.settings)
    if form == "json":
        return as_json(card_told(found, at, vouching, **about, budget_tokens=budget_tokens))
    budget = budget_tokens or TEXT_TOKENS
    text = as_text(found, at, **about, budget_tokens=budget, count_tokens=count_tokens, vouching=vouching)
    return Response(text, media_type="text/plain")


@routes.post(
    "/v1/users/{user}/card/commands",
    dependencies=[needs(Scope.CHANGE_USER)],
    response_model=CardCommanded,
    responses={
        202: {"model": CardCommanded, "description": "Accepted, but no worker has answered in time."},
        409: {"description": "Refused: no such line, already so, or private; or a removal without `confirm`."},
    },
)
async def command_card(api: TheApi, token: TheToken, user: UserPath, asked: CardCommandBody) -> Response:
    """Sets, pins, unpins or removes a line of a card, in the name of the token.

    A removal erases the line's words from the log too, so it names the line twice.
    """
    if asked.action is CardAction.REMOVE and asked.confirm != asked.line_id:
        raise Problem(409, "a removal has no way back: repeat `line_id` in `confirm`")
    fields = asked.model_dump(exclude={"confirm"})
    command = card_command(user, token.name, uuid.uuid4().hex, datetime.now(UTC), fields)
    would_be(api, await card_of(api, token, user), command)  # refuses one without effect
    diff = await api.change_card(token, command)
    if diff is None:
        return as_json(CardCommanded(event_id=command.event_id, carried_out=False), 202)
    shown = diff if token.may_read(user) else None
    return as_json(CardCommanded(event_id=command.event_id, carried_out=True, version=diff.version, diff=shown))


async def card_of(api: Api, token: Token, user: str) -> Card | None:
    """Return the card as it is now; while topics are not read, as the snapshot has it."""
    if (held := api.live.card(user)) is not None or api.live.is_ready:
        return held
    return await api.read(token, partial(api.snapshot.card, user))


def card_command(user: str, actor: str, event_id: str, at: datetime, asked: dict[str, Any]) -> CardCommand:
    """Return a command; `asked` has `action`, `line_id`, `line` and `reason`."""
    envelope = {"event_id": event_id, "occurred_at": at, "user_id": user, "actor": actor}
    try:
        return CardCommand.model_validate({**asked, **envelope}, extra="forbid")
    except ValidationError as error:
        raise not_valid(error) from None


def would_be(api: Api, card: Card | None, command: CardCommand) -> CardDiff:
    """Return the effect of a command on the card as it is now."""
    try:
        return effect_of(card, command, privacy_of(api.settings))
    except NoEffect as error:
        raise Problem(409, str(error), refused=[{"why": kind} for kind in error.not_kept]) from None
