"""A person's card: what they said of themselves in conversations, across domains, and changes to it."""

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field, ValidationError

from operators.cards.lines import in_words
from operators.cards.views import as_text
from schemas import Card, CardAction, CardCommand, CardDiff, CardStated, Model
from schemas.fields import AttributeId, Text, UtcDatetime
from streams.http.api import Api, TheApi
from streams.http.problems import Problem, not_valid
from streams.http.routing import (
    READS,
    Body,
    Confirmation,
    DomainQuery,
    Last,
    TheToken,
    UserPath,
    as_json,
    needs,
    refuse,
    router,
)
from streams.http.tokens import Scope, Token
from streams.privacy import privacy_of
from streams.rights.cards import NoEffect, ToldCard, UnknownCard, card_at, card_told, effect_of
from streams.vouching import vouching_of

NOTHING = "nothing is on a card of this person yet"
TEXT_TOKENS, MOST_TOKENS = 300, 4_096
PLAIN = "text/plain"
_READERS = (Scope.READ_USER, Scope.READ_ALL)

routes = router("cards")


class CardFormat(StrEnum):
    """How a card is answered."""

    JSON = "json"
    TEXT = "text"


class CardLog(Model):
    """Versions of a card, as what changed."""

    diffs: tuple[CardDiff, ...]


class CardCommandBody(Body):
    """What is to change on a card, and why. `set` takes `line`, and `line_id` to take that line's place."""

    action: CardAction
    line_id: AttributeId | None = None
    line: CardStated | None = None
    reason: Annotated[str, Field(max_length=300)] = ""
    confirmation: Confirmation | None = Field(
        default=None, description="`remove`: that of the preview, to have it carried out."
    )


class CardPreview(Model):
    """What removing a line would do. Nothing was sent."""

    says: str = Field(description="What the line says.")
    confirmation: str
    expires_at: datetime


class CardCommanded(Model):
    """What became of a command."""

    event_id: str
    carried_out: bool = Field(description="False: accepted, and not carried out yet.")
    version: int | None = Field(default=None, description="The card's version afterwards.")
    diff: CardDiff | None = Field(default=None, description="Only for tokens that may read the user.")


@routes.get(
    "/v1/users/{user}/card",
    dependencies=[needs(Scope.READ_SLIM, *_READERS)],
    response_model=ToldCard,
    responses={200: {"content": {PLAIN: {"schema": {"type": "string"}}}}},
)
async def card(
    api: TheApi,
    token: TheToken,
    user: UserPath,
    request: Annotated[Text | None, Query(description="What the person asks for now.")] = None,
    budget_tokens: Annotated[
        int | None, Query(ge=1, le=MOST_TOKENS, description="How many tokens it may have.")
    ] = None,
    domain: DomainQuery = None,
    as_of: Annotated[
        UtcDatetime | None, Query(description="The moment, such as `2026-01-31T18:00:00Z`; out of the snapshot's log.")
    ] = None,
    form: Annotated[CardFormat, Query(alias="format", description="`text`: for a prompt.")] = (CardFormat.JSON),
) -> Response:
    """The card of a person: what they said of themselves, line by line, each with its evidence and why it is told.

    With `format=text` the lines for a prompt, of at most `budget_tokens` (300 by default), which a token with
    `read-slim` may have too. As fresh as its topic: milliseconds; with `as_of` some seconds old.
    """
    if form is not CardFormat.TEXT and not token.may_read(user):
        raise refuse(_READERS)
    try:
        found = await card_of(api, token, user) if as_of is None else card_at(await _log(api, token, user), user, as_of)
    except UnknownCard:
        found = None
    if found is None:
        raise Problem(404, NOTHING)
    at, vouching, words = as_of or now(), vouching_of(api.settings), request or ""
    if form is CardFormat.JSON:
        return as_json(card_told(found, at, vouching, request=words, budget_tokens=budget_tokens, domain=domain))
    budget = budget_tokens or TEXT_TOKENS
    text = as_text(found, at, request=words, budget_tokens=budget, domain=domain, vouching=vouching)
    return Response(text, media_type=PLAIN)


@routes.get("/v1/users/{user}/card/log", dependencies=[READS], response_model=CardLog)
async def card_log(api: TheApi, token: TheToken, user: UserPath, last: Last = 20) -> Response:
    """The newest versions of a card, as what each conversation, command or signal changed; from the snapshot."""
    diffs = await _log(api, token, user)
    return as_json(CardLog(diffs=tuple(diffs[-last:])))


@routes.post(
    "/v1/users/{user}/card/commands",
    dependencies=[needs(Scope.CHANGE_USER)],
    response_model=CardPreview | CardCommanded,
    responses={
        202: {"model": CardCommanded, "description": "Accepted, but no worker has answered in time."},
        409: {"description": "Refused: no such line, already so, or private; or the confirmation is over."},
    },
)
async def command_card(api: TheApi, token: TheToken, user: UserPath, asked: CardCommandBody) -> Response:
    """Sets, pins, unpins or removes a line of a card, in the name of the token.

    Removing forgets, in the log too, and is done in two steps: without `confirmation` it answers a preview with one.
    """
    event_id, at = uuid.uuid4().hex, now()
    confirmed, what, about = None, f"card {user}", asked.model_dump(mode="json", exclude={"confirmation"})
    if asked.confirmation is not None:
        confirmed = api.confirmations.check(asked.confirmation, token, what, about)
        if (before := api.confirmations.answer_of(confirmed)) is not None:
            return as_json(before)
        event_id, at = confirmed.name(), confirmed.at
    command = card_command(user, token.name, event_id, at, asked.model_dump(exclude={"confirmation"}))
    held = await card_of(api, token, user)
    would_be(api, held, command)
    if command.action is CardAction.REMOVE and confirmed is None:
        lines = (*held.lines, *held.past) if held is not None and token.may_read(user) else ()
        says = next((in_words(line) for line in lines if line.line_id == command.line_id), "")
        return as_json({"says": says, **api.confirmations.make(token, what, about)})
    diff = await api.change_card(token, command)
    if diff is None:
        return as_json(CardCommanded(event_id=event_id, carried_out=False), 202)
    done = CardCommanded(event_id=event_id, carried_out=True, version=diff.version)
    if confirmed is not None:
        api.confirmations.remember(confirmed, done)
    return as_json(done.model_copy(update={"diff": diff}) if token.may_read(user) else done)


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


def now() -> datetime:
    """Return the time by which lines have faded."""
    return datetime.now(UTC)


async def _log(api: Api, token: Token, user: str) -> list[CardDiff]:
    diffs = await api.read(token, partial(api.snapshot.card_log, user))
    if not diffs:
        raise Problem(404, NOTHING)
    return diffs
