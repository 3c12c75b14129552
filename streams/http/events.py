"""Events in: batches, rank requests and corrections, each acknowledged by Kafka before the answer."""

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, Union

from fastapi import Response
from pydantic import Field, SkipValidation, ValidationError, create_model

from operators.seals import authenticated
from operators.stated import in_words
from schemas import (
    Candidate,
    Correction,
    Directive,
    Model,
    NotUnderstood,
    RankedBy,
    Ranking,
    RankRequest,
    Said,
    Scope,
    SkillDiff,
    Wish,
    encode,
)
from schemas.corrections import MAX_DIRECTIVES, Language
from schemas.events import MAX_CANDIDATES
from schemas.fields import DomainField, Identifier, Instruction, ItemIdField, UserIdField
from schemas.topics import TOPICS
from streams.dry_run import dry_run_of, lessons
from streams.http import metrics
from streams.http.answers import Outgoing
from streams.http.api import Api, TheApi
from streams.http.intake import Batch as Checking
from streams.http.problems import Problem, not_valid
from streams.http.routing import Body, DomainPath, TheToken, UserPath, as_json, needs, refuse, router
from streams.http.tokens import EVERYBODY, Token, TokenScope
from streams.privacy import privacy_of

MAX_EVENTS = 500
AT_ONCE = 20
"""Events after which other requests get a turn."""
LINT_CHARS = 10_000
"""How much text of a batch the linter reads: a second's work at worst."""
RANK_SCOPES = (TokenScope.PRODUCE, TokenScope.READ_SLIM)
NOT_REMEMBERED = "These words ask not to be remembered, so nothing was sent."

EventT = TypeVar("EventT", RankRequest, Correction)

events, rankings, corrections = router("events"), router("rankings"), router("corrections")


SENT = {
    "items": "An entry of the catalogue.",
    "interactions": "Something that the person took before, without a list.",
    "rank-requests": "A request for a ranking whose answer comes on Kafka; `/v1/rank` waits for it.",
    "rankings": "A list that was shown.",
    "selections": "What was taken from a list.",
    "feedback": "A signal on an item.",
    "corrections": "What a person says.",
    "utterances": "A turn of a conversation.",
}
_ENTRIES = tuple(
    create_model(
        f"Sent{(event := TOPICS[base].model).__name__}",
        __base__=Body,
        __doc__=about,
        topic=(Literal[base], ...),  # type: ignore[arg-type]
        event=(event, ...),
    )
    for base, about in SENT.items()
)
_Entries = Annotated[
    list[Annotated[Union[_ENTRIES], Field(discriminator="topic")]],  # type: ignore[valid-type] # noqa: UP007
    Field(min_length=1, max_length=MAX_EVENTS),
]


class Batch(Body):
    """A batch of events. Each is checked by itself, so that a bad one does not keep the others out."""

    events: SkipValidation[_Entries]  # `Checking` checks them one by one


class FieldError(Model):
    """What is wrong with a field; its value is never quoted."""

    field: str
    what: str


class Result(Model):
    """What became of an event, in the order of the batch."""

    event_id: str | None = Field(description="As it was sent; none where there was none.")
    status: Literal["accepted", "refused"]
    errors: tuple[FieldError, ...] = Field(default=(), description="Only of refused ones.")


class Taken(Model):
    """What became of a batch. Kafka has what was accepted."""

    accepted: int
    refused: int
    results: tuple[Result, ...]


class Linted(Model):
    """What an event would do."""

    event_id: str | None
    teaches: tuple[str, ...] = Field(description="What is learned from it, in sentences.")
    warnings: tuple[str, ...] = Field(description="What would make it teach more, or why it teaches nothing.")
    errors: tuple[FieldError, ...] = Field(description="Why it would be refused; empty if it would not.")


class LintReport(Model):
    """What a batch would do; nothing of it was sent."""

    accepted: int = Field(description="How many events would be accepted.")
    refused: int
    results: tuple[Linted, ...]


class RankBody(Body):
    """Asks for a ranking, and waits for it."""

    user_id: UserIdField
    domain: DomainField
    candidates: tuple[Candidate, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    instruction: Instruction = Field(default="", description="What the person asks for, in their own words.")
    session_id: Identifier | None = None
    clarify: bool = Field(default=False, description="Whether the ranking may bring a question along.")
    request_id: Identifier | None = Field(
        default=None, description="Names the ranking; by default a new id. The same one again is the same ranking."
    )


class CorrectionBody(Body):
    """What a person says, in words (`text`) or by a form (`says`, `suits`)."""

    text: Instruction = Field(default="", description="The person's own words.")
    language: Language | None = Field(default=None, description="BCP 47, such as `de`; none: told by the words.")
    items: tuple[Candidate, ...] = Field(
        default=(), max_length=MAX_CANDIDATES, description="What the person sees, first place first."
    )
    item_id: ItemIdField | None = Field(default=None, description="The item that it is about, if it is about one.")
    says: tuple[Directive, ...] = Field(default=(), max_length=MAX_DIRECTIVES)
    suits: tuple[ItemIdField, ...] = Field(default=(), max_length=MAX_CANDIDATES)
    scope: Scope | None = Field(default=None, description="none: what the words say, else always.")
    answers: Identifier | None = Field(default=None, description="The question of a ranking that this answers.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None


class StatedNow(Model):
    """One thing that was understood."""

    statement_id: str
    says: str = Field(description="Such as `avoids horror (genre)`.")
    words: str = Field(description="The words that said so; empty for a form.")
    scope: Scope


class Corrected(Model):
    """What became of a correction."""

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
    stated: tuple[StatedNow, ...] = ()
    diff: SkillDiff | None = Field(default=None, description="Only for tokens that may read the user.")


@events.post("/v1/events", dependencies=[needs(TokenScope.PRODUCE, every=True)], response_model=Taken)
async def send_events(api: TheApi, token: TheToken, batch: Batch) -> Response:
    """Takes up to 500 events, and answers once Kafka has acknowledged them.

    Each event is checked by itself: `results` has one entry for each, in the order of the batch. Sending the same
    event again, with the same `event_id`, changes nothing, so after a 503 or no answer at all send the whole batch
    again as it is.
    """
    checking = await _checked(token, _entries_of(batch))
    await api.sender.send([Outgoing(*each) for each in checking.records(api.settings.prefix, api.settings.partitions)])
    results: list[dict[str, Any]] = []
    for each in checking.entries:
        metrics.EVENTS.labels(each.topic.base if each.topic else metrics.NO_TOPIC, each.status).inc()
        results.append({"event_id": each.event_id, "status": each.status})
        if each.errors:
            results[-1]["errors"] = each.errors
    refused = checking.refused
    return as_json({"accepted": len(results) - refused, "refused": refused, "results": results})


@events.post("/v1/events/lint", dependencies=[needs(TokenScope.PRODUCE, every=True)], response_model=LintReport)
async def lint_events(api: TheApi, token: TheToken, batch: Batch) -> Response:
    """Tells what each event of a batch will teach, in sentences; sends nothing.

    The events meet each other as they would in the pipeline, and a person of whom nothing is known: a selection joins
    with its ranking of the same batch.
    """
    entries = _entries_of(batch)
    checking = await _checked(token, entries)
    return as_json(await api.read(token, lambda: _report(api, checking, entries)))


@rankings.post("/v1/rank", dependencies=[needs(*RANK_SCOPES, every=True)], response_model=Ranking)
async def rank(api: TheApi, token: TheToken, asked: RankBody) -> Response:
    """Ranks candidates for a person, best first, and waits for it.

    What spoke for the order is in `injected`: the slim skill, and in `fit` how well the candidates suit and, with
    `clarify`, the one question whose answer would tell most. Answer it with a correction. Then show the list, and send
    what was taken as a selection with this `ranking_id`.

    A 504 names the `request_id`: the same request may be sent again with it.
    """
    user = asked.user_id
    if not all(token.may(scope, user) for scope in RANK_SCOPES):
        raise refuse(RANK_SCOPES)
    name = asked.request_id or uuid.uuid4().hex
    request = _event(RankRequest, asked, request_id=name)

    def is_answer(found: Ranking) -> bool:
        is_named = (found.ranking_id, found.user_id) == (name, user)
        return is_named and authenticated(found, api.ranking_key).ranked_by is RankedBy.SAGER

    found = await api.ask(token, request, Ranking, is_answer)
    if found is None:
        detail = "no worker has ranked this in time; the request is kept, and the ranking will be on its topic"
        raise Problem(504, detail, request_id=name)
    # Without its seal: a client could test guesses of a short key against it.
    return Response(encode(found.model_copy(update={"seal": None})), media_type="application/json")


@corrections.post(
    "/v1/users/{user}/domains/{domain}/corrections",
    dependencies=[needs(TokenScope.CHANGE_USER)],
    response_model=Corrected,
    responses={202: {"model": Corrected, "description": "Kept, but no worker has answered in time."}},
)
async def correct(api: TheApi, token: TheToken, user: UserPath, domain: DomainPath, asked: CorrectionBody) -> Response:
    """Record what a person wants or does not want, in words or by a form, and answer with the statements understood.

    The next ranking honours it. With `answers` it answers the question of a ranking. Words that are not understood are
    kept in the log and change nothing; `why` is the reason, and `explanation` has examples. Words that ask
    not to be remembered are not sent at all.
    """
    correction = _event(Correction, asked, user_id=user, domain=domain)
    name, wish = correction.event_id, Wish.NOT_REMEMBERED
    if privacy_of(api.settings).wish(correction.text) is wish:
        why = {"understood": False, "why": wish.value, "explanation": NOT_REMEMBERED}
        return as_json(Corrected(event_id=name, carried_out=False, **why))
    diff = await api.change_skill(token, correction)
    if diff is None:
        return as_json(Corrected(event_id=name, carried_out=False), 202)
    heard = diff.heard
    statements = [change.statement for change in diff.stated if change.kind is Said.STATED and change.statement]
    return as_json(
        Corrected(
            event_id=name,
            carried_out=True,
            version=diff.version,
            understood=heard is None or heard.understood,
            why=heard.why.value if heard is not None and heard.why is not None else "",
            explanation="" if heard is None else heard.explanation,
            not_kept=() if heard is None else tuple(heard.not_kept),
            stated=tuple(
                StatedNow(statement_id=each.statement_id, says=in_words(each), words=each.words, scope=each.scope)
                for each in statements
            ),
            diff=diff if token.may_read(user) else None,
        )
    )


def _event(kind: type[EventT], asked: Body, **more: str) -> EventT:
    """Return the event that a body stands for."""
    fields = {name: getattr(asked, name) for name in type(asked).model_fields}
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC)}
    try:
        return kind.model_validate({**fields, **envelope, **more})
    except ValidationError as error:
        raise not_valid(error) from None


def _entries_of(batch: Batch) -> Sequence[Any]:
    """Return the entries of a batch, which Pydantic has not looked at."""
    entries: Any = batch.events
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_EVENTS:
        raise Problem(422, f'events must be a list of 1 to {MAX_EVENTS}: {{"topic": "selections", "event": {{...}}}}')
    return entries


async def _checked(token: Token, entries: Sequence[Any]) -> Checking:
    """Check the batch, some entries at a time: a whole one would keep all others waiting."""
    checking = Checking(lambda user: token.may(TokenScope.PRODUCE, user or EVERYBODY), datetime.now(UTC))
    for begin in range(0, len(entries), AT_ONCE):
        if begin:
            await asyncio.sleep(0)
        checking.check(entries[begin : begin + AT_ONCE])
    return checking


def _report(api: Api, checking: Checking, entries: Sequence[Any]) -> dict[str, Any]:
    """Lint a batch: a millisecond an event, and more for long texts."""
    checked = [each.event for each in checking.entries]
    records = [entry["event"] if event else {} for entry, event in zip(entries, checked, strict=True)]
    found = lessons(dry_run_of(api.settings, datetime.now(UTC), LINT_CHARS), checked, records)
    results = [
        {"event_id": each.event_id, "teaches": lesson.teaches, "warnings": lesson.warnings, "errors": each.errors}
        for each, lesson in zip(checking.entries, found, strict=True)
    ]
    return {"accepted": len(checked) - checking.refused, "refused": checking.refused, "results": results}
