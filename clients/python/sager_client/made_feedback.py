"""Makes the events of what an app hears beside choices: signals, what a person says, answers, turns of a chat."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from .exceptions import NotAsked, NotShown
from .making import CandidateLike, candidate, envelope
from .schemas import (
    Correction,
    Directive,
    Feedback,
    Question,
    Ranking,
    RankRequest,
    Role,
    Scope,
    Signal,
    Stance,
    Utterance,
)

Says = Directive | Mapping[str, Any]
"""One thing that a form says: a `Directive`, or a mapping with its fields."""


def feedback(
    user_id: str,
    domain: str,
    item: CandidateLike,
    signal: Signal | str,
    value: float | None,
    scale: Sequence[float] | None,
    ranking_id: str | None,
    session_id: str | None,
    at: datetime | None,
    event_id: str | None,
) -> Feedback:
    """One signal on one item."""
    event = {
        "user_id": user_id,
        "domain": domain,
        "item": candidate(item),
        "signal": str(signal),
        "value": value,
        "scale": None if scale is None else tuple(scale),
        "ranking_id": ranking_id,
        "session_id": session_id,
    }
    return Feedback.model_validate({**envelope(at, event_id), **event})


def correction(
    user_id: str,
    domain: str,
    text: str,
    *,
    ranking: Ranking | RankRequest | None = None,
    at: datetime | None = None,
    event_id: str | None = None,
    items: Iterable[CandidateLike] = (),
    says: Iterable[Says] = (),
    suits: Iterable[str] = (),
    scope: Scope | str | None = None,
    session_id: str | None = None,
    **more: Any,
) -> Correction:
    """What a person says; with a ranking, of its items.

    Raises:
        NotShown: it names an item that the person did not see.
        TypeError: the ranking is another user's or of another domain, or items are given beside it.
    """
    shown = [candidate(item) for item in items]
    event = {
        "user_id": user_id,
        "domain": domain,
        "text": text,
        "says": [said if isinstance(said, Directive) else Directive.model_validate(said) for said in says],
        "suits": list(suits),
        "scope": scope,
        "session_id": session_id,
        **more,
    }
    if ranking is not None:
        if shown or (ranking.user_id, ranking.domain) != (user_id, domain):
            raise TypeError("the ranking says what was shown to whom: give its user and domain, and no items beside it")
        shown = list(ranking.candidates)
        event["ranking_id"] = ranking.request_id if isinstance(ranking, RankRequest) else ranking.ranking_id
        event["session_id"] = session_id or ranking.session_id
    seen = {item.item_id for item in shown}
    for named in filter(None, (more.get("item_id"), *event["suits"], *(said.item_id for said in event["says"]))):
        if named not in seen:
            raise NotShown(f"{named!r} is none of the items: give what the person saw, as ranking= or items=")
    return Correction.model_validate({**envelope(at, event_id), **event, "items": shown})


def utterance(
    user_id: str,
    conversation_id: str,
    turn: int,
    text: str,
    role: Role | str,
    ranking: Ranking | RankRequest | None,
    at: datetime | None,
    event_id: str | None,
    **more: Any,
) -> Utterance:
    """One turn of a conversation; with a ranking, of its domain.

    Raises:
        TypeError: the ranking is another user's or of another domain.
    """
    event = {
        "user_id": user_id,
        "conversation_id": conversation_id,
        "turn": turn,
        "role": Role(role),
        "text": text,
        **more,
    }
    if ranking is not None:
        if ranking.user_id != user_id or more.get("domain") not in (None, ranking.domain):
            raise TypeError("the ranking says what was shown to whom: give its user, and its domain or none")
        event["ranking_id"] = ranking.request_id if isinstance(ranking, RankRequest) else ranking.ranking_id
        event["domain"] = ranking.domain
    return Utterance.model_validate({**envelope(at, event_id), **event})


def answer(
    ranking: Ranking, option: str, scope: Scope | str | None, at: datetime | None, event_id: str | None
) -> Correction:
    """The answer to a ranking's question: one of its options.

    Raises:
        NotAsked: the ranking asks nothing, or has no such option.
    """
    asked = question_of(ranking)
    if asked is None:
        raise NotAsked("the ranking asks nothing: ask for it with clarify=True, and look for question_of(ranking)")
    options = {name: each for each in asked.options for name in (each.attribute_id, each.value)}
    if option not in options:
        named = ", ".join(each.value for each in asked.options)
        raise NotAsked(f"{option!r} is none of the options, which are {named}")
    said = Directive(stance=Stance.PREFERS, dimension=asked.dimension, value=options[option].value)
    return correction(
        ranking.user_id,
        ranking.domain,
        "",
        ranking=ranking,
        at=at,
        event_id=event_id,
        says=[said],
        scope=scope,
        answers=asked.question_id,
    )


def question_of(ranking: Ranking) -> Question | None:
    """The question that a ranking brings along, if it does."""
    fit = ranking.injected.fit
    return None if fit is None else fit.question
