"""A person's card: what they said of themselves in conversations, across domains, and what they change in it."""

import uuid
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from operators.cards.lines import in_words
from operators.cards.views import as_text, note, skill_md
from operators.tokens import count_tokens
from schemas import Card, CardAction, CardDiff, CardStated, Model
from schemas.fields import AttributeId, Text, UtcDatetime
from streams.http.answer import as_json
from streams.http.api import Api, TheApi
from streams.http.auth import TheToken, needs, refuse
from streams.http.cards import NOTHING, card_command, card_of, carry_out, now, would_be
from streams.http.confirmations import canonical
from streams.http.forms import Body
from streams.http.params import DomainQuery, UserPath, Whole
from streams.http.problems import Problem
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope, Token
from streams.rights.cards import ToldCard, UnknownCard, card_at, card_told
from streams.vouching import vouching_of

LAST, MOST_LAST = 20, 200
TEXT_TOKENS, MOST_TOKENS = 300, 4_096
NOTE_TOKENS = 2_048
MAX_CONFIRMATION_CHARS = 100
PLAIN, MARKDOWN = "text/plain", "text/markdown"

router = strict_router("cards")
_READERS = (Scope.READ_USER, Scope.READ_ALL)
_READS = needs(*_READERS)


class CardFormat(StrEnum):
    """How a card is answered."""

    JSON = "json"
    TEXT = "text"
    SKILL = "skill"


class CardLog(Model):
    """Versions of a card, as what changed."""

    diffs: tuple[CardDiff, ...]


class CardNote(Model):
    """A person's log in so many tokens."""

    user_id: str
    as_of: UtcDatetime
    text: str
    tokens: int


class CardCommandBody(Body):
    """What is to change on a card, and why. `set` takes `line`, and `line_id` to take that line's place."""

    action: CardAction
    line_id: AttributeId | None = None
    line: CardStated | None = None
    reason: Annotated[str, Field(max_length=300)] = ""
    confirmation: Annotated[str, Field(max_length=MAX_CONFIRMATION_CHARS)] | None = Field(
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


AsOf = Annotated[
    UtcDatetime | None, Query(description="The moment, such as `2026-01-31T18:00:00Z`; out of the snapshot's log.")
]
Budget = Annotated[Whole | None, Query(ge=1, le=MOST_TOKENS, description="How many tokens it may have.")]


@router.get(
    "/v1/users/{user}/card",
    dependencies=[needs(Scope.READ_SLIM, *_READERS)],
    response_model=ToldCard,
    responses={200: {"content": {PLAIN: {"schema": {"type": "string"}}, MARKDOWN: {"schema": {"type": "string"}}}}},
)
async def card(
    api: TheApi,
    token: TheToken,
    user: UserPath,
    request: Annotated[Text | None, Query(description="What the person asks for now.")] = None,
    budget_tokens: Budget = None,
    domain: DomainQuery = None,
    as_of: AsOf = None,
    form: Annotated[CardFormat, Query(alias="format", description="`text`: for a prompt; `skill`: a SKILL.md.")] = (
        CardFormat.JSON
    ),
) -> Response:
    """The card of a person: what they said of themselves, line by line, each with its evidence and why it is told.

    With `format=text` the lines for a prompt, of at most `budget_tokens` (300 by default), which a token with
    `read-slim` may have too. As fresh as its topic: milliseconds; with `as_of` some seconds old.
    """
    if form is not CardFormat.TEXT and not token.may_read(user):
        raise refuse(_READERS)
    at = as_of or now()
    found = await _card(api, token, user, as_of)
    if form is CardFormat.SKILL:
        return Response(skill_md(found, at, vouching_of(api.settings)), media_type=MARKDOWN)
    if form is CardFormat.TEXT:
        told = as_text(
            found,
            at,
            request=request or "",
            budget_tokens=budget_tokens or TEXT_TOKENS,
            domain=domain,
            count_tokens=count_tokens,
            vouching=vouching_of(api.settings),
        )
        return Response(told, media_type=PLAIN)
    vouching = vouching_of(api.settings)
    shown = card_told(found, at, vouching, request=request or "", budget_tokens=budget_tokens, domain=domain)
    return as_json(shown.model_dump(mode="json"))


@router.get("/v1/users/{user}/card/log", dependencies=[_READS], response_model=CardLog)
async def card_log(
    api: TheApi,
    token: TheToken,
    user: UserPath,
    last: Annotated[Whole, Query(ge=1, le=MOST_LAST, description="How many.")] = LAST,
) -> Response:
    """The newest versions of a card, as what each conversation, command or signal changed; from the snapshot."""
    diffs = await _logged(api, token, user)
    return as_json({"diffs": [diff.model_dump(mode="json") for diff in diffs[-last:]]})


@router.get("/v1/users/{user}/card/note", dependencies=[_READS], response_model=CardNote)
async def card_note(
    api: TheApi, token: TheToken, user: UserPath, budget_tokens: Budget = None, as_of: AsOf = None
) -> Response:
    """The log of a card as a note of at most 2,048 tokens: a view of it, by code alone; from the snapshot."""
    at = as_of or now()
    diffs = [diff for diff in await _logged(api, token, user) if diff.occurred_at <= at]
    if not diffs:
        raise Problem(404, NOTHING)
    text = note(
        diffs,
        at,
        budget_tokens=budget_tokens or NOTE_TOKENS,
        count_tokens=count_tokens,
        vouching=vouching_of(api.settings),
    )
    return as_json({"user_id": user, "as_of": at.isoformat(), "text": text, "tokens": count_tokens(text)})


@router.post(
    "/v1/users/{user}/card/commands",
    dependencies=[needs(Scope.CHANGE_USER)],
    response_model=CardPreview | CardCommanded,
    responses={
        202: {"model": CardCommanded, "description": "Accepted, but no worker has answered in time."},
        409: {"description": "Refused: no such line, already so, or private; or the confirmation is over."},
    },
)
async def command_card(api: TheApi, token: TheToken, user: UserPath, asked: CardCommandBody) -> Response:
    """Sets, pins, unpins or removes a line of a card: what `sager card` can do, in the name of the token.

    Removing forgets, in the log too, and is done in two steps: without `confirmation` it answers a preview with one.
    """
    fields = asked.model_dump(exclude={"confirmation"})
    event_id, at = uuid.uuid4().hex, now()
    confirmed = None
    what, about = f"card {user}", canonical(asked.model_dump(mode="json", exclude={"confirmation"}))
    if asked.confirmation is not None:
        confirmed = api.confirmations.check(asked.confirmation, token, what, about)
        if (before := api.confirmations.answer_of(confirmed)) is not None:
            return as_json(before)
        event_id, at = confirmed.name(), confirmed.at
    command = card_command(user, token.name, event_id, at, fields)
    held = await card_of(api, token, user)
    would_be(api, held, command)
    if command.action is CardAction.REMOVE and confirmed is None:
        return as_json(
            {"says": _says(held, command.line_id, token, user), **api.confirmations.make(token, what, about).told}
        )
    diff = await carry_out(api, token, command)
    if diff is None:
        return as_json({"event_id": event_id, "carried_out": False}, 202)
    told = {"event_id": event_id, "carried_out": True, "version": diff.version}
    if confirmed is not None:
        api.confirmations.remember(confirmed, told)
    return as_json({**told, **({"diff": diff.model_dump(mode="json")} if token.may_read(user) else {})})


def _says(held: Card | None, named: str | None, token: Token, user: str) -> str:
    """What the line says, for a token that may read it."""
    lines = (*held.lines, *held.past) if held is not None and token.may_read(user) else ()
    return next((in_words(line) for line in lines if line.line_id == named), "")


async def _card(api: Api, token: Token, user: str, as_of: datetime | None) -> Card:
    """The card, now or at a moment.

    Raises:
        Problem: there is none.
    """
    try:
        found = (
            await card_of(api, token, user) if as_of is None else card_at(await _logged(api, token, user), user, as_of)
        )
    except UnknownCard:
        found = None
    if found is None:
        raise Problem(404, NOTHING)
    return found


async def _logged(api: Api, token: Token, user: str) -> list[CardDiff]:
    diffs = await api.read(token, partial(api.snapshot.card_log, user))
    if not diffs:
        raise Problem(404, NOTHING)
    return diffs
