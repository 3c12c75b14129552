"""Routes that take events: batches, rank requests and corrections."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from fastapi import Response
from pydantic import Field, ValidationError

from operators.admission import TOLERANCE, reject_reason
from operators.seals import without_unproven_fields
from operators.stated import describe_statement
from schemas import MAX_CANDIDATES, Candidate, NotUnderstood, OptOut, RankedBy, Ranking, RankRequest, SkillDiff, encode
from schemas.base import DomainField, Event, Identifier, Instruction, ItemIdField, Model, UserIdField
from schemas.statements import MAX_DIRECTIVES, Correction, Directive, Language, Scope, StatementChangeKind
from schemas.topics import APP_TOPICS, TOPICS, Topic
from streams.dry_run import lessons
from streams.http import metrics
from streams.http.api import ApiParam, new_event
from streams.http.limits import BATCH_EVENTS
from streams.http.problems import Problem, field_errors
from streams.http.replies import user_of
from streams.http.routing import Body, DomainPath, TokenParam, UserPath, json_response, refuse, require, router
from streams.http.tokens import ALL_USERS, Token, TokenScope
from streams.policies import privacy_of

EVENTS_PER_TURN = 20  # other requests get a turn after this many
MAX_ID = 256
OVERHEAD_BYTES = 1_024  # the size of a record besides its value: key, times, Kafka's own fields
WHOLE_EVENT = "event"  # the field of an error about the whole event
RANK_SCOPES = (TokenScope.PRODUCE, TokenScope.READ_SLIM)
NOT_REMEMBERED = "These words ask not to be remembered, so nothing was sent."

events, rankings, corrections = router("events"), router("rankings"), router("corrections")


_ENTRY: dict[str, Any] = {
    "type": "object",
    "required": ["topic", "event"],
    "properties": {
        "topic": {"enum": list(APP_TOPICS)},
        "event": {"type": "object", "description": "As on Kafka: asyncapi.json has the fields of each topic."},
    },
}


class EventBatch(Body):
    """A batch of events, each validated by itself."""

    events: list[Any] = Field(min_length=1, max_length=BATCH_EVENTS, json_schema_extra={"items": _ENTRY})


@dataclass(frozen=True, slots=True)
class CheckedEvent:
    """A validated entry of a batch; `event` is None if refused."""

    outcome: dict[str, Any]  # its part of the response
    topic: Topic | None = None  # None if apps may not write it
    event: Event | None = None


class _Rejected(Exception):
    """An entry is refused; arguments: the field and the error."""


class FieldError(Model):
    """An invalid field. Its value is never quoted."""

    field: str
    what: str


class EventOutcome(Model):
    """The outcome of one event."""

    event_id: str | None = Field(description="As it was sent, if it was.")
    status: Literal["accepted", "refused"]
    errors: tuple[FieldError, ...] = Field(default=(), description="Only of refused ones.")


class BatchOutcome(Model):
    """The outcome of a batch; Kafka has acknowledged the accepted events."""

    accepted: int
    refused: int
    results: tuple[EventOutcome, ...]


class EventLessons(EventOutcome):
    """The lessons of one event."""

    teaches: tuple[str, ...] = Field(description="Its lessons, in sentences.")
    warnings: tuple[str, ...] = Field(description="Ways to make it teach more.")


class LintReport(BatchOutcome):
    """The lessons of a batch. Nothing was sent."""

    results: tuple[EventLessons, ...]


class RankBody(Body):
    """A rank request."""

    user_id: UserIdField
    domain: DomainField
    candidates: tuple[Candidate, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    instruction: Instruction = Field(default="", description="The request, in the person's words.")
    session_id: Identifier | None = None
    clarify: bool = Field(default=False, description="The ranking may include a question.")
    request_id: Identifier | None = Field(
        default=None, description="The id of the ranking; a new one by default. Repeating it returns the same ranking."
    )


class CorrectionBody(Body):
    """A person's statement: `text`, or a form's `directives` and `acceptable`."""

    text: Instruction = Field(default="", description="The person's own words.")
    language: Language | None = Field(default=None, description="BCP 47, such as `de`; detected by default.")
    items: tuple[Candidate, ...] = Field(
        default=(), max_length=MAX_CANDIDATES, description="The items that the person sees, in order."
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
    carried_out: bool = Field(description="True if a worker has answered in time.")
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
    """Send up to 500 events; Kafka has acknowledged them when this returns.

    Each event is validated by itself: `results` has one entry per event, in order. An event with a known `event_id`
    has no effect, so send the same batch again after a 503 or a timeout.
    """
    checked = await _check_batch(token, batch)
    await api.sender.send([each.event for each in checked if each.event is not None])
    for each in checked:
        metrics.EVENTS.labels(each.topic.base if each.topic else metrics.OTHER, each.outcome["status"]).inc()
    return _batch_response(checked)


@events.post("/v1/events/lint", dependencies=[require(TokenScope.PRODUCE, every=True)], response_model=LintReport)
async def lint_events(api: ApiParam, token: TokenParam, batch: EventBatch) -> Response:
    """List the lessons of a batch in sentences, without sending it.

    The user has no history, but the events see each other: a selection finds the ranking of the same batch.
    """
    checked = await _check_batch(token, batch)
    records = [entry["event"] if each.event else {} for entry, each in zip(batch.events, checked, strict=True)]
    given = [each.event for each in checked]
    # In a thread: an event takes a millisecond, and more for long texts.
    lint = partial(lessons, api.settings, given, records)
    for each, lesson in zip(checked, await api.read(token, lint), strict=True):
        each.outcome.update(teaches=lesson.teaches, warnings=lesson.warnings)
    return _batch_response(checked)


@rankings.post("/v1/rank", dependencies=[require(*RANK_SCOPES, every=True)], response_model=Ranking)
async def rank(api: ApiParam, token: TokenParam, body: RankBody) -> Response:
    """Rank candidates for a person, best first.

    `injected` has the reasons: the slim skill, and in `fit` how well the candidates suit and, with `clarify`, the most
    useful question, which a correction answers. Show the list, then send the choice as a selection with this
    `ranking_id`. After a 504, repeat the request with its `request_id`.
    """
    user = body.user_id
    if not all(token.allows(scope, user) for scope in RANK_SCOPES):
        raise refuse(RANK_SCOPES)
    name = body.request_id or uuid.uuid4().hex
    request = new_event(RankRequest, {**dict(body), "request_id": name})

    def is_answer(found: Ranking) -> bool:
        is_named = (found.ranking_id, found.user_id) == (name, user)
        return is_named and without_unproven_fields(found, api.ranking_key).ranked_by is RankedBy.SAGER

    found = await api.send_and_wait(token, request, Ranking, is_answer)
    if found is None:
        detail = "no worker has ranked this in time; the request is kept, and the ranking will be on its topic"
        if any(each.is_id_alone for each in body.candidates):
            detail += ", unless the catalogue lacks one of the ids: then it is a dead letter (unknown-item)"
        raise Problem(504, detail, request_id=name)
    # Without its seal, against which a client could test guesses of a short key.
    return Response(encode(found.model_copy(update={"seal": None})), media_type="application/json")


@corrections.post(
    "/v1/users/{user}/domains/{domain}/corrections",
    dependencies=[require(TokenScope.CHANGE_USER)], response_model=CorrectionOutcome,
    responses={202: {"model": CorrectionOutcome, "description": "Kept, but no worker has answered in time."}},
)  # fmt: skip
async def correct(
    api: ApiParam, token: TokenParam, user: UserPath, domain: DomainPath, body: CorrectionBody
) -> Response:
    """Record a person's wishes; returns the statements that were understood.

    The next ranking follows them. With `answers` it answers the question of a ranking. Words that are not understood
    are logged without effect: `why` is the reason, and `explanation` has examples. Words that ask not to be remembered
    are not sent.
    """
    correction = new_event(Correction, {**dict(body), "user_id": user, "domain": domain})
    name, wish = correction.event_id, OptOut.NOT_REMEMBERED
    if privacy_of(api.settings).opt_out(correction.text) is wish:
        why = {"understood": False, "why": wish.value, "explanation": NOT_REMEMBERED}
        return json_response(CorrectionOutcome(event_id=name, carried_out=False, **why))
    diff = await api.change(token, correction, SkillDiff)
    if diff is None:
        return json_response(CorrectionOutcome(event_id=name, carried_out=False), 202)
    outcome: dict[str, Any] = {"understood": True}
    if (trigger := diff.trigger) is not None:
        outcome = trigger.model_dump(include={"understood", "explanation", "not_kept"})
        outcome["why"] = trigger.why.value if trigger.why else ""
    outcome["stated"] = tuple(
        UnderstoodStatement(statement_id=s.statement_id, says=describe_statement(s), words=s.words, scope=s.scope)
        for change in diff.stated
        if change.kind is StatementChangeKind.STATED and (s := change.statement)
    )
    outcome["diff"] = diff if token.can_read(user) else None
    return json_response(CorrectionOutcome(event_id=name, carried_out=True, version=diff.version, **outcome))


async def _check_batch(token: Token, batch: EventBatch) -> list[CheckedEvent]:
    now, checked = datetime.now(UTC), list[CheckedEvent]()
    for number, entry in enumerate(batch.events):
        if number % EVENTS_PER_TURN == 0:
            await asyncio.sleep(0)
        checked.append(check_event(entry, lambda user: token.allows(TokenScope.PRODUCE, user or ALL_USERS), now))
    return checked


def _batch_response(checked: Sequence[CheckedEvent]) -> Response:
    accepted, results = sum(each.event is not None for each in checked), [each.outcome for each in checked]
    return json_response({"accepted": accepted, "refused": len(checked) - accepted, "results": results})


def check_event(entry: Any, may_send: Callable[[str | None], bool], now: datetime) -> CheckedEvent:
    """Validate an entry of a batch as a worker would. Never raises.

    `may_send` returns True if the token may send events of this user; None: events without a user.
    """
    name, topic = None, None
    try:
        if not isinstance(entry, dict) or entry.keys() != {"topic", "event"} or not isinstance(entry["event"], dict):
            raise _Rejected("", "an entry is an object with the two members topic and event")
        given = entry["event"].get("event_id")
        name = given if isinstance(given, str) and 0 < len(given) <= MAX_ID else None
        topic = TOPICS.get(entry["topic"]) if entry["topic"] in APP_TOPICS else None
        if topic is None:
            raise _Rejected("topic", f"apps send {', '.join(APP_TOPICS)}")
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
        return CheckedEvent({"event_id": name, "status": "accepted"}, topic, event)
    except ValidationError as error:
        errors = field_errors(error.errors(), whole=WHOLE_EVENT)
    except _Rejected as refusal:
        errors = (dict(zip(("field", "what"), refusal.args, strict=True)),)
    return CheckedEvent({"event_id": name, "status": "refused", "errors": errors}, topic)
