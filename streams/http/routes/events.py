"""Events in: batches that Kafka has by the time of the answer, and batches of which is told what they would teach."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import Response

from streams.http import metrics
from streams.http.answer import as_json
from streams.http.api import Api, TheApi
from streams.http.auth import TheToken, needs_some
from streams.http.forms import Batch, LintReport, Taken
from streams.http.intake import Batch as Checking
from streams.http.intake import entries_of
from streams.http.sender import Outgoing
from streams.http.strict import router as strict_router
from streams.http.tokens import EVERYBODY, Scope, Token
from streams.linting import lessons, linter_of

AT_ONCE = 20
"""Events after which other requests get a turn."""
LINT_CHARS = 10_000
"""What is read of people's words in a batch, in a second at worst."""

router = strict_router("events")


@router.post("/v1/events", dependencies=[needs_some(Scope.PRODUCE)], response_model=Taken)
async def send_events(api: TheApi, token: TheToken, batch: Batch) -> Response:
    """Takes up to 500 events, and answers once Kafka has acknowledged them.

    Each event is checked by itself: `results` has one entry for each, in the order of the batch. Sending the same
    event again, with the same `event_id`, changes nothing, so after a 503 or no answer at all send the whole batch
    again as it is.
    """
    checking = await _checked(token, entries_of(batch.events))
    await api.sender.send([Outgoing(*each) for each in checking.records(api.settings.prefix, api.settings.partitions)])
    for each in checking.entries:
        metrics.EVENTS.labels(each.topic.base if each.topic else metrics.NO_TOPIC, each.status).inc()
    refused = checking.refused
    results = [each.result for each in checking.entries]
    return as_json({"accepted": len(results) - refused, "refused": refused, "results": results})


@router.post("/v1/events/lint", dependencies=[needs_some(Scope.PRODUCE)], response_model=LintReport)
async def lint_events(api: TheApi, token: TheToken, batch: Batch) -> Response:
    """Tells what each event of a batch will teach, in sentences; sends nothing.

    The events meet each other as they would in the pipeline, and a person of whom nothing is known: a selection joins
    with its ranking of the same batch.
    """
    entries = entries_of(batch.events)
    checking = await _checked(token, entries)
    return as_json(await api.read(token, lambda: report(api, checking, entries)))


async def _checked(token: Token, entries: Sequence[Any]) -> Checking:
    """The batch, checked some at a time: a whole one would keep all others waiting."""
    checking = Checking(lambda user: token.may(Scope.PRODUCE, user or EVERYBODY), datetime.now(UTC))
    for begin in range(0, len(entries), AT_ONCE):
        if begin:
            await asyncio.sleep(0)
        checking.check(entries[begin : begin + AT_ONCE])
    return checking


def report(api: Api, checking: Checking, entries: Sequence[Any]) -> dict[str, Any]:
    """What is told of a batch; takes a millisecond an event, and long texts more."""
    events = [each.event for each in checking.entries]
    records = [entry["event"] if event else {} for entry, event in zip(entries, events, strict=True)]
    told = lessons(linter_of(api.settings, datetime.now(UTC), LINT_CHARS), events, records)
    results = [
        {"event_id": each.event_id, "teaches": lesson.teaches, "warnings": lesson.warnings, "errors": each.errors}
        for each, lesson in zip(checking.entries, told, strict=True)
    ]
    return {"accepted": len(events) - checking.refused, "refused": checking.refused, "results": results}
