"""Routes of skills and cards: read, explain and change them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import Field

from operators.cards.lines import card_text
from operators.history import at_version
from operators.skill_document import skill_document
from schemas import AttributeId, Card, DomainField, Label, Model, PolicySkill, RefusedProposal, SkillDiff, Text
from schemas.commands import Action, AssignableTier, SkillCommand, SkillLineInput
from streams.analytics import read
from streams.http.api import Api, ApiParam, new_event
from streams.http.problems import Problem
from streams.http.routing import (
    Body,
    DomainPath,
    DomainQuery,
    LinePath,
    TokenParam,
    UserPath,
    json_response,
    refuse,
    require,
    router,
)
from streams.http.tokens import Scope, Token
from streams.policies import output_gate
from streams.views.cards import CardView, card_view
from streams.views.line_history import LineHistory, UnknownLine, explain
from streams.views.skills import UnknownUser, skill_to_json

NOTHING = "nothing is on a card of this person yet"
TEXT_TOKENS, MOST_TOKENS = 300, 4_096
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
READERS = (Scope.READ_USER, Scope.READ_ALL)
_READS = require(*READERS)

reads, models, changes, cards = router("skills"), router("for models"), router("commands"), router("cards")


class TokenInfo(Model):
    """The token of a request."""

    name: str
    scopes: tuple[Scope, ...]
    user: str | None
    expires: datetime | None


class Skills(Model):
    """The skills of a user."""

    skills: tuple[PolicySkill, ...]


class SkillLog(Model):
    """Versions of skills, with their changes."""

    diffs: tuple[SkillDiff, ...]


class SkillForModel(Model):
    """A skill for a model: only values that pass the output gate."""

    domain: str
    version: int
    frozen: bool = Field(description="A person has stopped it from learning.")
    held_back: int = Field(description="The number of withheld lines.")
    markdown: str = Field(description="The skill as a SKILL.md.")


class CommandBody(Body):
    """A change of a skill, and its reason."""

    domain: DomainField
    action: Action
    attribute_id: AttributeId | None = Field(
        default=None, description="reword, set-tier, remove, pin, unpin: the line."
    )
    line: SkillLineInput | None = Field(default=None, description="add: the new line.")
    value: Label | None = Field(default=None, description="reword: the line's new text.")
    tier: AssignableTier | None = Field(default=None, description="set-tier: the line's new tier.")
    to_version: int | None = Field(default=None, ge=0, description="roll-back: the version to go back to; 0: the seed.")
    reason: Annotated[str, Field(max_length=300)] = ""


class CommandOutcome(Model):
    """The outcome of a command."""

    event_id: str
    carried_out: bool = Field(description="False: accepted, and not carried out yet.")
    version: int | None = Field(default=None, description="The skill's version afterwards.")
    refused: tuple[RefusedProposal, ...] = Field(default=(), description="Changes that had no effect, and why.")
    diff: SkillDiff | None = Field(default=None, description="Only for tokens that may read the user.")


@reads.get("/v1/token")
async def token_info(token: TokenParam) -> TokenInfo:
    """Return this token's name, scopes and user; `*`: all users."""
    scopes = tuple(scope for scope in Scope if scope in token.scopes)
    return TokenInfo(name=token.name, scopes=scopes, user=token.user, expires=token.expires)


@reads.get("/v1/users/{user}/skills", dependencies=[_READS], response_model=Skills)
async def skills(api: ApiParam, token: TokenParam, user: UserPath, domain: DomainQuery = None) -> Response:
    """Return the skills of a user, one per domain."""
    found = await api.query(token, lambda con: read.skill(con, user, domain))
    if not found:
        raise Problem(404, "no such skill of this user is in the snapshot")
    return json_response({"skills": [skill_to_json(skill) for skill in found]})


@reads.get("/v1/users/{user}/log", dependencies=[_READS], response_model=SkillLog)
async def log(
    api: ApiParam,
    token: TokenParam,
    user: UserPath,
    domain: DomainQuery = None,
    last: Annotated[int, Query(ge=1, le=200, description="How many versions, the newest ones.")] = 20,
) -> Response:
    """Return the newest versions of each skill, with changes and evidence."""
    diffs = await api.query(token, lambda con: read.diffs(con, user, domain))
    if not diffs:
        raise Problem(404, "no version of such a skill is in the snapshot")
    newest = [diff for _, skill in groupby(diffs, attrgetter("domain")) for diff in [*skill][-last:]]
    return json_response(SkillLog(diffs=tuple(newest)))


@reads.get(
    "/v1/users/{user}/domains/{domain}/lines/{attribute}",
    dependencies=[_READS], response_model=LineHistory,
)  # fmt: skip
async def explain_line(
    api: ApiParam, token: TokenParam, user: UserPath, domain: DomainPath, attribute: LinePath
) -> Response:
    """Explain one line or statement: its state and its steps.

    Also for lines that were removed or reworded.
    """
    gate = output_gate(api.settings)
    try:
        return json_response(await api.query(token, lambda con: explain(con, user, domain, attribute, gate)))
    except (UnknownUser, UnknownLine):
        raise Problem(404, "no version of such a skill with this line or statement is in the snapshot") from None


@models.get("/v1/users/{user}/domains/{domain}/model-view", dependencies=[_READS], response_model=SkillForModel)
async def model_skill(api: ApiParam, user: UserPath, domain: DomainPath) -> Response:
    """Return a skill as SKILL.md, with values that pass the output gate.

    Withheld lines are counted; `/v1/users/{user}/skills` shows them to people.
    """
    api.cache.check_ready()
    found = api.cache.skill(user, domain)
    if found is None:
        raise Problem(404, "nothing is known of this user in this domain yet")
    gate = output_gate(api.settings)
    held_back = sum(1 for line in found.attributes if line.tier and gate.line_rejection(line) is not None)
    about: dict[str, Any] = {"domain": domain, "version": found.version, "frozen": found.frozen}
    return json_response(SkillForModel(**about, held_back=held_back, markdown=skill_document(found, gate)))


@changes.post(
    "/v1/users/{user}/commands",
    dependencies=[require(Scope.CHANGE_USER)],
    response_model=CommandOutcome,
    responses={
        202: {"model": CommandOutcome, "description": "Accepted, but no worker has answered in time."},
        409: {"description": "Refused: an unknown line, no effect, or private data; see `refused`."},
    },
)
async def command(api: ApiParam, token: TokenParam, user: UserPath, body: CommandBody) -> Response:
    """Change a skill in the name of the token."""
    sent = await command_of(api, token, user, body.model_dump(exclude_unset=True))
    diff = await api.change(token, sent, SkillDiff)
    if diff is None:
        return json_response(CommandOutcome(event_id=sent.event_id, carried_out=False), 202)
    if diff.refused and not diff.changes:
        refused = [each.model_dump(mode="json") for each in diff.refused]
        why = ", ".join(each.why for each in diff.refused)
        raise Problem(409, f"the command was refused: {why}", event_id=sent.event_id, refused=refused)
    # A skill's first diff contains all its initial lines, so it needs a token that can read them.
    more = {"diff": diff if token.can_read(user) else None, "refused": diff.refused}
    return json_response(CommandOutcome(event_id=sent.event_id, carried_out=True, version=diff.version, **more))


async def command_of(api: Api, token: Token, user: str, given: Mapping[str, Any]) -> SkillCommand:
    """Return the command of a token with these fields."""
    fields = {**given, "user_id": user, "actor": token.name}
    if given.get("action") == Action.ROLL_BACK:
        if given.get("to_version") is None:
            raise Problem(422, "roll-back needs to_version, a whole number")
        # From the log, so that no client can supply the lines of a version.
        log = await api.query(token, lambda con: read.diffs(con, user, given["domain"]))
        then = at_version(log, given["to_version"])
        if then is None:
            raise Problem(409, "there is no such version of this skill, or the snapshot does not have it yet")
        fields["lines"] = [line.model_dump() for line in then.attributes]
        fields |= {"hypotheses": then.hypotheses, "version_at": then.occurred_at}
    return new_event(SkillCommand, fields)


@cards.get(
    "/v1/users/{user}/card",
    dependencies=[require(Scope.READ_SLIM, *READERS)],
    response_model=CardView,
    responses=_TEXT,
)
async def card(
    api: ApiParam,
    token: TokenParam,
    user: UserPath,
    request: Annotated[Text | None, Query(description="The person's request now.")] = None,
    budget_tokens: Annotated[int, Query(ge=1, le=MOST_TOKENS, description="The text's limit.")] = TEXT_TOKENS,
    domain: DomainQuery = None,
    form: Annotated[Literal["json", "text"], Query(alias="format", description="`text`: for a prompt.")] = "json",
) -> Response:
    """Return the card of a person, with evidence and reasons by line.

    `format=text` returns the lines for a prompt, of at most `budget_tokens`; `read-slim` suffices for it. Fresh within
    milliseconds.
    """
    if form == "json" and not token.can_read(user):
        raise refuse(READERS)
    found = await card_of(api, token, user)
    if found is None:
        raise Problem(404, NOTHING)
    about: dict[str, Any] = {"request": request or "", "domain": domain}
    at, gate = datetime.now(UTC), output_gate(api.settings)
    if form == "json":
        return json_response(card_view(found, at, gate, **about))
    text = card_text(found, at, **about, budget_tokens=budget_tokens, gate=gate)
    return Response(text, media_type="text/plain")


async def card_of(api: Api, token: Token, user: str) -> Card | None:
    """Return the current card; the snapshot's while topics are being read."""
    if (found := api.cache.card(user)) is not None or api.cache.is_ready:
        return found
    return await api.query(token, lambda con: read.card(con, user))
