"""Routes of cards: statements a person made about themselves in conversations."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import ValidationError

from operators.cards.lines import describe_rejection
from operators.cards.merge import apply_command, is_confirmation_only
from operators.cards.views import card_text
from schemas import Card, CardCommand, CardDiff
from schemas.base import Text
from streams.analytics import read
from streams.http.api import Api, ApiParam
from streams.http.problems import Problem, validation_problem
from streams.http.routing import DomainQuery, TokenParam, UserPath, json_response, refuse, require, router
from streams.http.tokens import Scope, Token
from streams.policies import output_gate, privacy_of
from streams.views.cards import CardView, card_view

NOTHING = "nothing is on a card of this person yet"
TEXT_TOKENS, MOST_TOKENS = 300, 4_096
_READERS = (Scope.READ_USER, Scope.READ_ALL)
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

routes = router("cards")


@routes.get(
    "/v1/users/{user}/card",
    dependencies=[require(Scope.READ_SLIM, *_READERS)],
    response_model=CardView,
    responses=_TEXT,
)
async def card(
    api: ApiParam,
    token: TokenParam,
    user: UserPath,
    request: Annotated[Text | None, Query(description="The person's request now.")] = None,
    budget_tokens: Annotated[int | None, Query(ge=1, le=MOST_TOKENS, description="The maximum length.")] = None,
    domain: DomainQuery = None,
    form: Annotated[Literal["json", "text"], Query(alias="format", description="`text`: for a prompt.")] = "json",
) -> Response:
    """Return the card of a person, with evidence and reasons by line.

    `format=text` returns the lines for a prompt, of at most `budget_tokens` (300 by default); `read-slim` suffices
    for it. Fresh within milliseconds.
    """
    if form == "json" and not token.can_read(user):
        raise refuse(_READERS)
    found = await card_of(api, token, user)
    if found is None:
        raise Problem(404, NOTHING)
    about: dict[str, Any] = {"request": request or "", "domain": domain}
    at, gate = datetime.now(UTC), output_gate(api.settings)
    if form == "json":
        return json_response(card_view(found, at, gate, **about, budget_tokens=budget_tokens))
    budget = budget_tokens or TEXT_TOKENS
    text = card_text(found, at, **about, budget_tokens=budget, gate=gate)
    return Response(text, media_type="text/plain")


async def card_of(api: Api, token: Token, user: str) -> Card | None:
    """Return the current card, or the snapshot's while topics are still being read."""
    if (found := api.cache.card(user)) is not None or api.cache.is_ready:
        return found
    return await api.query(token, lambda con: read.card(con, user))


def card_command(user: str, actor: str, event_id: str, at: datetime, given: dict[str, Any]) -> CardCommand:
    """Return a command from the fields `action`, `line_id`, `line` and `reason`."""
    envelope = {"event_id": event_id, "occurred_at": at, "user_id": user, "actor": actor}
    try:
        return CardCommand.model_validate({**given, **envelope}, extra="forbid")
    except ValidationError as error:
        raise validation_problem(error) from None


def preview_command(api: Api, card: Card | None, command: CardCommand) -> CardDiff:
    """Return the effect of a command on the current card; refuse one without effect."""
    diff = apply_command(card, command, None, privacy_of(api.settings))
    if diff is not None and not is_confirmation_only(card, diff):
        return diff
    kinds = [] if diff is None else [each.kind for each in diff.not_kept]
    lines = () if card is None else (*card.lines, *card.past)
    if kinds:
        why = f"{', '.join(map(describe_rejection, kinds))} is not kept"
    elif command.line_id is None or any(line.line_id == command.line_id for line in lines):
        why = "it is so already"
    else:
        why = "the card has no such line"
    raise Problem(409, f"the command would change nothing: {why}", refused=[{"why": kind} for kind in kinds])
