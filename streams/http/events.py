"""Events in: batches, rank requests and corrections, each acknowledged by Kafka before the answer."""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, TypeVar

from fastapi import Response
from pydantic import Field, ValidationError

from operators.admission import TOLERANCE, reject_reason
from operators.seals import without_unproven_fields
from operators.stated import describe_statement
from schemas import Candidate, Correction, Directive, Event, Model, OptOut, Scope, StatementChangeKind, Topic, encode
from schemas.base import DomainField, Identifier, Instruction, ItemIdField, UserIdField
from schemas.corrections import MAX_DIRECTIVES, Language
from schemas.diffs import NotUnderstood, SkillDiff
from schemas.events import MAX_CANDIDATES, RankedBy, Ranking, RankRequest
from schemas.topics import FROM_APPS, TOPICS
from streams.dry_run import lessons
from streams.http import metrics
from streams.http.api import ApiParam
from streams.http.limits import BATCH_EVENTS, LINT_CHARS
from streams.http.problems import Problem, field_errors, validation_problem
from streams.http.replies import outgoing_record, user_of
from streams.http.routing import Body, DomainPath, TokenParam, UserPath, json_response, refuse, require, router
from streams.http.tokens import ALL_USERS, Token, TokenScope
from streams.privacy import privacy_of

EVENTS_PER_TURN = 20  # events after which other requests get a turn
MAX_ID = 256
OVERHEAD_BYTES = 1_024  # the size of a record besides its value: key, times, Kafka's own fields
WHOLE_EVENT = "event"  # the field of an error about the whole event
RANK_SCOPES = (TokenScope.PRODUCE, TokenScope.READ_SLIM)
NOT_REMEMBERED = "These words ask not to be remembered, so nothing was sent."

EventT = TypeVar("EventT", RankRequest, Correction)

events, rankings, corrections = router("events"), router("rankings"), router("corrections")


_ENTRY: dict[str, Any] = {
    "type": "object",
    "required": ["topic", "event"],
    "properties": {
        "topic": {"enum": list(FROM_APPS)},
        "event": {"type": "object", "description": "As on Kafka: asyncapi.json has the fields of each topic."},
    },
}


class EventBatch(Body):
    """A batch of events. Each is checked by itself, so that a bad one does not keep the others out."""

    events: list[Any] = Field(min_length=1, max_length=BATCH_EVENTS, json_schema_extra={"items": _ENTRY})


@dataclass(frozen=True, slots=True)
class CheckedEvent:
    """One entry of a batch; `event` is None if it is refused, for these errors."""

    event_id: str | None  # None if it cannot be an event's
    topic: Topic | None = None  # None if it names none that apps write
    event: Event | None = None
    errors: tuple[dict[str, str], ...] = ()

    @property
    def status(self) -> str:
        """The word for it in the answer."""
        return "refused" if self.event is None else "accepted"


class _Rejected(Exception):
    """An entry is refused; its arguments are the field and the mistake."""


class FieldError(Model):
    """An invalid field; its value is never quoted."""

    field: str
    what: str


class EventOutcome(Model):
    """The outcome of an event, in the order of the batch."""

    event_id: str | None = Field(description="As it was sent, if it was.")
    status: Literal["accepted", "refused"]
    errors: tuple[FieldError, ...] = Field(default=(), description="Only of refused ones.")


class BatchOutcome(Model):
    """The outcome of a batch. Kafka has the accepted events."""

    accepted: int
    refused: int
    results: tuple[EventOutcome, ...]


class EventLessons(EventOutcome):
    """The lessons of an event."""

    teaches: tuple[str, ...] = Field(description="Its lessons, in sentences.")
    warnings: tuple[str, ...] = Field(description="Ways to make it teach more.")


class LintReport(BatchOutcome):
    """The lessons of a batch; nothing of it was sent."""

    results: tuple[EventLessons, ...]


class RankBody(Body):
    """Asks for a ranking, and waits for it."""

    user_id: UserIdField
    domain: DomainField
    candidates: tuple[Candidate, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    instruction: Instruction = Field(default="", description="The request, in the person's words.")
    session_id: Identifier | None = None
    clarify: bool = Field(default=False, description="The ranking may bring a question.")
    request_id: Identifier | None = Field(
        default=None, description="Names the ranking; by default a new id. The same one again is the same ranking."
    )


class CorrectionBody(Body):
    """A statement of a person, in words (`text`) or by a form (`directives`, `acceptable`)."""

    text: Instruction = Field(default="", description="The person's own words.")
    language: Language | None = Field(default=None, description="BCP 47, such as `de`; by default found by the words.")
    items: tuple[Candidate, ...] = Field(
        default=(), max_length=MAX_CANDIDATES, description="The items that the person sees, first place first."
    )
    item_id: ItemIdField | None = Field(default=None, description="The item that it is about, if it is about one.")
    directives: tuple[Directive, ...] = Field(default=(), max_length=MAX_DIRECTIVES)
    acceptable: tuple[ItemIdField, ...] = Field(default=(), max_length=MAX_CANDIDATES)
    scope: Scope | None = Field(default=None, description="By default as the words say, else always.")
    answers: Identifier | None = Field(default=None, description="The question of a ranking that this answers.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None


class UnderstoodStatement(Model):
    """One understood statement."""

    statement_id: str
    says: str = Field(description="Such as `avoids horror (genre)`.")
    words: str = Field(description="Its words; empty for a form.")
    scope: Scope


class CorrectionOutcome(Model):
    """The outcome of a correction."""

    event_id: str
    carried_out: bool = Field(description="Whether a worker has answered within the time.")
    version: int | None = Field(default=None, description="The skill's version afterwards.")
    understood: bool | None = Field(default=None, description="False: it is in the log and changes nothing.")
    why: str = Field(
        default="",
        description="Why it changes nothing: not-remembered, "
        + ", ".join(why.value for why in NotUnderstood)
        + "; empty where it was understood.",
    )
    explanation: str = Field(
        default="",
        description="For the person: the reason, examples that would be understood, private data left out, and the "
        "effect of words that state nothing.",
    )
    not_kept: tuple[str, ...] = Field(default=(), description="Kinds of private data that were left out.")
    stated: tuple[UnderstoodStatement, ...] = ()
    diff: SkillDiff | None = Field(default=None, description="Only for tokens that may read the user.")


@events.post("/v1/events", dependencies=[require(TokenScope.PRODUCE, every=True)], response_model=BatchOutcome)
async def send_events(api: ApiParam, token: TokenParam, batch: EventBatch) -> Response:
    """Takes up to 500 events, and answers once Kafka has acknowledged them.

    Each event is checked by itself: `results` has one entry for each, in the order of the batch. Sending the same
    event again, with the same `event_id`, changes nothing, so after a 503 or no answer at all send the whole batch
    again as it is.
    """
    checked = await _check_batch(token, batch)
    await api.sender.send([outgoing_record(each.event, api.settings) for each in checked if each.event is not None])
    for each in checked:
        metrics.EVENTS.labels(each.topic.base if each.topic else metrics.NO_TOPIC, each.status).inc()
    return _batch_response(checked, map(_outcome, checked))


@events.post("/v1/events/lint", dependencies=[require(TokenScope.PRODUCE, every=True)], response_model=LintReport)
async def lint_events(api: ApiParam, token: TokenParam, batch: EventBatch) -> Response:
    """Lists the lessons of each event of a batch, in sentences; sends nothing.

    The events share the state of a user without any history: a selection joins with its ranking of the same batch.
    """
    checked = await _check_batch(token, batch)
    records = [entry["event"] if each.event else {} for entry, each in zip(batch.events, checked, strict=True)]
    given = [each.event for each in checked]
    # A millisecond an event, and more for long texts.
    lint = partial(lessons, api.settings, datetime.now(UTC), LINT_CHARS, given, records)
    found = zip(checked, await api.read(token, lint), strict=True)
    return _batch_response(
        checked, (_outcome(each) | {"teaches": lesson.teaches, "warnings": lesson.warnings} for each, lesson in found)
    )


@rankings.post("/v1/rank", dependencies=[require(*RANK_SCOPES, every=True)], response_model=Ranking)
async def rank(api: ApiParam, token: TokenParam, asked: RankBody) -> Response:
    """Ranks candidates for a person, best first, and waits for it.

    `injected` has the reasons: the slim skill, and in `fit` how well the candidates suit and, with `clarify`, the most
    useful question. Answer it with a correction. Then show the list, and send the choice as a selection with this
    `ranking_id`. A 504 names the `request_id`: the same request may be sent again with it.
    """
    user = asked.user_id
    if not all(token.allows(scope, user) for scope in RANK_SCOPES):
        raise refuse(RANK_SCOPES)
    name = asked.request_id or uuid.uuid4().hex
    request = _event(RankRequest, asked, request_id=name)

    def is_answer(found: Ranking) -> bool:
        is_named = (found.ranking_id, found.user_id) == (name, user)
        return is_named and without_unproven_fields(found, api.ranking_key).ranked_by is RankedBy.SAGER

    found = await api.send_and_wait(token, request, Ranking, is_answer)
    if found is None:
        detail = "no worker has ranked this in time; the request is kept, and the ranking will be on its topic"
        raise Problem(504, detail, request_id=name)
    # Without its seal: a client could test guesses of a short key against it.
    return Response(encode(found.model_copy(update={"seal": None})), media_type="application/json")


@corrections.post(
    "/v1/users/{user}/domains/{domain}/corrections",
    dependencies=[require(TokenScope.CHANGE_USER)], response_model=CorrectionOutcome,
    responses={202: {"model": CorrectionOutcome, "description": "Kept, but no worker has answered in time."}},
)  # fmt: skip
async def correct(
    api: ApiParam, token: TokenParam, user: UserPath, domain: DomainPath, asked: CorrectionBody
) -> Response:
    """Records wishes of a person, in words or by a form, and answers with the statements understood.

    The next ranking honours them. With `answers` it answers the question of a ranking. Words that are not understood
    are kept in the log and change nothing; `why` is the reason, and `explanation` has examples. Words that ask
    not to be remembered are not sent at all.
    """
    correction = _event(Correction, asked, user_id=user, domain=domain)
    name, wish = correction.event_id, OptOut.NOT_REMEMBERED
    if privacy_of(api.settings).wish(correction.text) is wish:
        why = {"understood": False, "why": wish.value, "explanation": NOT_REMEMBERED}
        return json_response(CorrectionOutcome(event_id=name, carried_out=False, **why))
    diff = await api.change_skill(token, correction)
    if diff is None:
        return json_response(CorrectionOutcome(event_id=name, carried_out=False), 202)
    of_heard: dict[str, Any] = {"understood": True}
    if (heard := diff.trigger) is not None:
        of_heard = heard.model_dump(include={"understood", "explanation", "not_kept"})
        of_heard["why"] = "" if heard.why is None else heard.why.value
    statements = [
        change.statement for change in diff.stated if change.kind is StatementChangeKind.STATED and change.statement
    ]
    return json_response(
        CorrectionOutcome(
            event_id=name,
            carried_out=True,
            version=diff.version,
            **of_heard,
            stated=tuple(
                UnderstoodStatement(
                    statement_id=each.statement_id, says=describe_statement(each), words=each.words, scope=each.scope
                )
                for each in statements
            ),
            diff=diff if token.can_read(user) else None,
        )
    )


def _event(kind: type[EventT], asked: Body, **more: str) -> EventT:
    fields = {name: getattr(asked, name) for name in type(asked).model_fields}
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC)}
    try:
        return kind.model_validate({**fields, **envelope, **more})
    except ValidationError as error:
        raise validation_problem(error) from None


async def _check_batch(token: Token, batch: EventBatch) -> list[CheckedEvent]:
    """Check a batch, some entries at a time, so that other requests get a turn."""
    now, checked = datetime.now(UTC), list[CheckedEvent]()
    for number, entry in enumerate(batch.events):
        if number % EVENTS_PER_TURN == 0:
            await asyncio.sleep(0)
        checked.append(check_event(entry, lambda user: token.allows(TokenScope.PRODUCE, user or ALL_USERS), now))
    return checked


def _outcome(checked: CheckedEvent) -> dict[str, Any]:
    errors = {"errors": checked.errors} if checked.errors else {}
    return {"event_id": checked.event_id, "status": checked.status, **errors}


def _batch_response(checked: Sequence[CheckedEvent], results: Iterable[dict[str, Any]]) -> Response:
    accepted = sum(each.event is not None for each in checked)
    return json_response({"accepted": accepted, "refused": len(checked) - accepted, "results": list(results)})


def check_event(entry: Any, may_send: Callable[[str | None], bool], now: datetime) -> CheckedEvent:
    """Check an entry of a batch as a worker would; never raises, whatever it is.

    `may_send`: returns True if the token may send events of this user; None: events that belong to no user. `now`:
    events that are later, by more than clocks may differ, are refused.
    """
    name, topic = None, None
    try:
        if not isinstance(entry, dict) or entry.keys() != {"topic", "event"} or not isinstance(entry["event"], dict):
            raise _Rejected("", "an entry is an object with the two members topic and event")
        given = entry["event"].get("event_id")
        name = given if isinstance(given, str) and 0 < len(given) <= MAX_ID else None
        topic = TOPICS.get(entry["topic"]) if entry["topic"] in FROM_APPS else None
        if topic is None:
            raise _Rejected("topic", f"apps send {', '.join(FROM_APPS)}")
        event: Event = topic.model.__pydantic_validator__.validate_python(entry["event"])
        user = user_of(event)
        if not may_send(user):
            if user is None:
                raise _Rejected("topic", "items belong to all users: sending them takes a token for all users")
            raise _Rejected("user_id", "this token may not send events of that user")
        if reject_reason(event, None, now) is not None:
            minutes = TOLERANCE.seconds // 60
            raise _Rejected("occurred_at", f"it is more than {minutes} minutes ahead of the server's time")
        if len(encode(event)) > (most := topic.max_message_bytes - OVERHEAD_BYTES):
            raise _Rejected(WHOLE_EVENT, f"it is over {most:,} bytes")
    except ValidationError as error:
        return CheckedEvent(name, topic, errors=field_errors(error, whole=WHOLE_EVENT))
    except _Rejected as refusal:
        return CheckedEvent(name, topic, errors=(dict(zip(("field", "what"), refusal.args, strict=True)),))
    return CheckedEvent(name, topic, event)
