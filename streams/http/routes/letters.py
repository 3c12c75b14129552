"""Dead letters: what was refused, and sending it again. Their originals may tell of people, whoever they are."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Self

from fastapi import Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from schemas import DeadLetter, Position
from schemas.fields import UserIdField, UtcDatetime
from streams.exceptions import NotProduced
from streams.http.answer import as_json
from streams.http.api import Api, TheApi
from streams.http.auth import TheToken, needs
from streams.http.confirmations import canonical
from streams.http.params import DECODED, Whole
from streams.http.problems import Problem
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope, Token
from streams.operations.dead_letters import replay as replaying
from streams.operations.dead_letters.reading import (
    WEBHOOK,
    Chosen,
    Listing,
    NoSuchLetter,
    Place,
    chosen_of,
    listing,
    one,
    summary,
)

PAGE, MOST_PAGE = 50, 500
MOST_NAMES, MOST_IDS, SHOWN_IDS = 20, 500, 100
_CURSOR = r"^[0-9]{1,14}-[0-9]{1,6}-[0-9]{1,19}$"

router = strict_router("operation")
_OPERATES = needs(Scope.OPERATE)

Name = Annotated[str, Field(min_length=1, max_length=250)]


class Letter(BaseModel):
    """A dead letter without its original's value; the key may be a user's id."""

    event_id: str
    refused_at: datetime
    stage: str
    reason: str
    detail: str
    source: Position
    key: str
    value_bytes: int
    replayed: bool


class Letters(BaseModel):
    """A page of dead letters, newest first; counts are of all that match. `next` is for `before`."""

    total: int
    by_reason: dict[str, int]
    replayed: int
    forgotten: int
    letters: list[Letter]
    next: str | None


class WholeLetter(BaseModel):
    """A dead letter as it is on its topic, the original's bytes in URL-safe base64; and where that was replayed to."""

    letter: DeadLetter
    replayed_to: list[str]


class ReplayAsked(BaseModel):
    """Which dead letters to replay: those that match all that is said, and something must be."""

    model_config = ConfigDict(extra="forbid")

    ids: list[Name] = Field(default_factory=list, max_length=MOST_IDS)
    reasons: list[Name] = Field(default_factory=list, max_length=MOST_NAMES)
    stages: list[Name] = Field(default_factory=list, max_length=MOST_NAMES)
    topics: list[Name] = Field(default_factory=list, max_length=MOST_NAMES)
    since: UtcDatetime | None = None
    user: UserIdField | None = None
    confirmation: Annotated[str, Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if not (self.ids or self.reasons or self.stages or self.topics or self.since or self.user):
            raise ValueError("name dead letters by their ids, or choose them by a reason, stage, topic, time or user")
        return self


class RetryAsked(BaseModel):
    """Which messages to deliver again: those of these ids, or all since a moment, or all."""

    model_config = ConfigDict(extra="forbid")

    ids: list[Name] = Field(default_factory=list, max_length=MOST_IDS)
    since: UtcDatetime | None = None
    confirmation: Annotated[str, Field(max_length=100)] | None = None


class ReplayPreview(BaseModel):
    """What a replay would send again. Nothing was sent."""

    count: int
    ready: list[str] = Field(description=f"Their ids, at most {SHOWN_IDS}.")
    hindered: dict[str, str] = Field(description="Why others cannot be replayed.")
    unknown: list[str]
    confirmation: str
    expires_at: datetime


class Replayed(BaseModel):
    """What a replay sent again; what was replayed before was not."""

    replayed: int
    hindered: dict[str, str]
    unknown: list[str]


@router.get("/v1/dead-letters", dependencies=[_OPERATES], response_model=Letters)
async def list_letters(
    api: TheApi,
    token: TheToken,
    reason: Annotated[Name | None, Query(description="Refused for this reason.")] = None,
    stage: Annotated[Name | None, Query(description="Refused at this stage.")] = None,
    topic: Annotated[Name | None, Query(description="With or without the deployment's prefix.")] = None,
    user: Annotated[UserIdField | None, Query(description="Keyed by this user.")] = None,
    since: Annotated[UtcDatetime | None, Query(description="Refused at this moment or later.")] = None,
    before: Annotated[str | None, Query(pattern=_CURSOR, description="The `next` of the page before.")] = None,
    limit: Annotated[Whole, Query(ge=1, le=MOST_PAGE, description="How many.")] = PAGE,
) -> Response:
    """Lists refused records, newest first, page by page, and counts them by reason.

    It reads the topic of dead letters, from `since` on. Those of people who were forgotten are left out.
    """
    chosen = chosen_of(api.settings, (), _some(reason), _some(stage), _some(topic), _ms(since), user)
    found = await api.search(token, partial(listing, api.settings, chosen, limit, before=_place(before)))
    return as_json(_page(found, limit))


@router.get("/v1/dead-letters/{letter}", dependencies=[_OPERATES], response_model=WholeLetter)
async def read_letter(
    api: TheApi,
    token: TheToken,
    letter: Annotated[str, DECODED, Path(min_length=1, max_length=128, description="Its `event_id`.")],
) -> Response:
    """One dead letter, with the bytes of its original in URL-safe base64."""
    try:
        found, replayed = await api.search(token, partial(one, api.settings, letter))
    except NoSuchLetter:
        raise Problem(404, "there is no such dead letter; they are kept for 90 days") from None
    return as_json({"letter": found.letter.model_dump(mode="json"), "replayed_to": replayed})


@router.post("/v1/dead-letters/replay", dependencies=[_OPERATES], response_model=ReplayPreview | Replayed)
async def replay_letters(api: TheApi, token: TheToken, asked: ReplayAsked) -> Response:
    """Sends the originals of dead letters again, in two steps.

    Without `confirmation`: what would be sent, with a confirmation. With it, the same request is carried out. Each is
    sent once, whatever is repeated; a record that is refused again becomes a new dead letter.
    """
    return await _in_two_steps(api, token, asked)


async def _in_two_steps(api: Api, token: Token, asked: ReplayAsked) -> Response:
    about = canonical(asked.model_dump(mode="json", exclude={"confirmation"}))
    chosen = chosen_of(api.settings, asked.ids, asked.reasons, asked.stages, asked.topics, _ms(asked.since), asked.user)
    if asked.confirmation is None:
        planned = await api.search(token, partial(replaying.plan, api.settings, chosen))
        confirmation = api.confirmations.make(token, "replay", about)
        ready = list(planned.ready)
        told = {"count": len(ready), "ready": ready[:SHOWN_IDS], **_hindrances(planned), **confirmation.told}
        return as_json(told)
    api.confirmations.check(asked.confirmation, token, "replay", about)
    planned, sent = await api.search(token, partial(_replay, api, chosen))
    return as_json({"replayed": sent, **_hindrances(planned)})


@router.get("/v1/webhooks/dead-letters", dependencies=[_OPERATES], response_model=Letters)
async def list_webhook_letters(
    api: TheApi,
    token: TheToken,
    since: Annotated[UtcDatetime | None, Query(description="Refused at this moment or later.")] = None,
    before: Annotated[str | None, Query(pattern=_CURSOR, description="The `next` of the page before.")] = None,
    limit: Annotated[Whole, Query(ge=1, le=MOST_PAGE, description="How many.")] = PAGE,
) -> Response:
    """Lists messages that an endpoint of `sager webhooks` has refused for good; `detail` names it."""
    chosen = chosen_of(api.settings, (), (), (WEBHOOK,), (), _ms(since), None)
    found = await api.search(token, partial(listing, api.settings, chosen, limit, before=_place(before)))
    return as_json(_page(found, limit))


@router.post("/v1/webhooks/dead-letters/retry", dependencies=[_OPERATES], response_model=ReplayPreview | Replayed)
async def retry_webhook_letters(api: TheApi, token: TheToken, asked: RetryAsked) -> Response:
    """Has refused messages delivered again, in two steps, as a replay: their slim skills go to their topic again.

    Every endpoint hears of them. One that has changed since was told by its change, and is not sent again.
    """
    return await _in_two_steps(api, token, ReplayAsked(stages=[WEBHOOK], **asked.model_dump()))


def _replay(api: Api, chosen: Chosen) -> tuple[replaying.Plan, int]:
    with replaying.ONE_AT_A_TIME:
        planned = replaying.plan(api.settings, chosen)
        try:
            return planned, replaying.replay(api.settings, planned)
        except NotProduced as error:
            raise Problem(503, "Kafka did not take all of them; replay again: nothing is sent twice") from error


def _hindrances(planned: replaying.Plan) -> dict[str, Any]:
    return {"hindered": {name: why.value for name, why in planned.hindered.items()}, "unknown": planned.unknown}


def _page(found: Listing, limit: int) -> dict[str, Any]:
    told = (summary(each, each.letter.event_id in found.replayed) for each in found.newest)
    return {
        "total": found.total,
        "by_reason": dict(found.by_reason.most_common()),
        "replayed": len(found.replayed),
        "forgotten": found.forgotten,
        "letters": [Letter(**each).model_dump(mode="json") for each in told],
        "next": "-".join(map(str, found.newest[-1].place)) if len(found.newest) == limit else None,
    }


def _some(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _ms(moment: datetime | None) -> int:
    return 0 if moment is None else max(0, int(moment.astimezone(UTC).timestamp() * 1000))


def _place(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    at, partition, offset = map(int, cursor.split("-"))
    return at, partition, offset
