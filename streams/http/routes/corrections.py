"""What a person says, over HTTP: sent to Kafka, and answered with what was understood."""

import uuid
from datetime import UTC, datetime
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from operators.stated import in_words
from schemas import Correction, Said, SkillDiff, Statement, Wish
from streams.http.answer import as_json
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs
from streams.http.forms import Corrected, CorrectionBody
from streams.http.params import DomainPath, UserPath
from streams.http.problems import not_valid
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope
from streams.privacy import privacy_of

NOT_REMEMBERED = "These words ask not to be remembered, so nothing was sent."
router = strict_router("corrections")


@router.post(
    "/v1/users/{user}/domains/{domain}/corrections",
    dependencies=[needs(Scope.CHANGE_USER)],
    response_model=Corrected,
    responses={202: {"model": Corrected, "description": "Kept, but no worker has answered in time."}},
)
async def correct(api: TheApi, token: TheToken, user: UserPath, domain: DomainPath, asked: CorrectionBody) -> Response:
    """Record what a person wants or does not want, in words or by a form, and answer with the statements understood.

    The next ranking honours it. With `answers` it answers the question of a ranking. Words that are not understood are
    kept in the log and change nothing; `why` is the reason, and `explanation` has examples. Words that ask
    not to be remembered are not sent at all.
    """
    correction = _correction(user, domain, asked)
    told: dict[str, Any] = {"event_id": correction.event_id, "carried_out": False}
    if privacy_of(api.settings).wish(correction.text) is Wish.NOT_REMEMBERED:
        unheard = {"understood": False, "why": Wish.NOT_REMEMBERED.value, "explanation": NOT_REMEMBERED, "stated": []}
        return as_json({**told, **unheard})
    mine = (correction.event_id, user, domain)

    def is_it(diff: SkillDiff) -> bool:
        return (diff.event_id, diff.user_id, diff.domain) == mine

    with api.waiting(token, user), api.answers.expect(SkillDiff, user, is_it, correction.event_id) as answer:
        await api.sender.send([api.sender.outgoing(correction)])
        diff = await answer.within(api.settings.http_wait_seconds)
    if diff is None:
        return as_json(told, 202)
    body = {**told, "carried_out": True, "version": diff.version, **_understood(diff)}
    if token.may_read(user):
        body["diff"] = diff.model_dump(mode="json")
    return as_json(body)


def _correction(user: str, domain: str, asked: CorrectionBody) -> Correction:
    known = {name: getattr(asked, name) for name in type(asked).model_fields}
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "domain": domain}
    try:
        return Correction.model_validate({**known, **envelope})
    except ValidationError as error:
        raise not_valid(error) from None


def _understood(diff: SkillDiff) -> dict[str, Any]:
    """What was understood of a correction, and noted as said."""
    heard = diff.heard
    stated = [change.statement for change in diff.stated if change.kind is Said.STATED and change.statement]
    return {
        "understood": heard is None or heard.understood,
        "why": heard.why.value if heard is not None and heard.why is not None else "",
        "explanation": "" if heard is None else heard.explanation,
        "not_kept": [] if heard is None else list(heard.not_kept),
        "stated": [_told(each) for each in stated],
    }


def _told(statement: Statement) -> dict[str, Any]:
    return {
        "statement_id": statement.statement_id,
        "says": in_words(statement),
        "words": statement.words,
        "scope": statement.scope.value,
    }
