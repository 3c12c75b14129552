"""Makes events of what an app knows: ids and the time where it gives none, candidates out of what it has."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from .exceptions import NotShown
from .schemas import (
    Action,
    Candidate,
    CardAction,
    CardCommand,
    CardStated,
    ForgetRequest,
    Injected,
    Interaction,
    Item,
    Ranking,
    RankRequest,
    Selection,
    SkillCommand,
    SlimSkill,
    line_of,
)

NAMED_ITEMS = 5


class ItemLike(Protocol):
    """An object with an `item_id`, and with `title`, `description` and `metadata` if it has them."""

    @property
    def item_id(self) -> str:
        """The item's id."""
        ...


CandidateLike = Candidate | Mapping[str, Any] | ItemLike
"""An item: a `Candidate`, a mapping with the same fields, or an object with the same attributes."""


def candidate(item: CandidateLike) -> Candidate:
    """An item as events carry it."""
    return item if isinstance(item, Candidate) else Candidate.model_validate(item, from_attributes=True)


def envelope(at: datetime | None, event_id: str | None = None) -> dict[str, Any]:
    """What all events share: an id and the time, new ones where none are given."""
    return {"event_id": event_id or uuid.uuid4().hex, "occurred_at": at or datetime.now(UTC)}


def item(domain: str, item: CandidateLike, at: datetime | None) -> Item:
    """An entry of the catalogue."""
    return Item.model_validate({**envelope(at), "domain": domain, "item": candidate(item)})


def interaction(
    user_id: str, domain: str, item: CandidateLike, at: datetime | None, event_id: str | None
) -> Interaction:
    """A past positive event."""
    event = {"user_id": user_id, "domain": domain, "item": candidate(item)}
    return Interaction.model_validate({**envelope(at, event_id), **event})


def rank_request(
    user_id: str,
    domain: str,
    candidates: Iterable[CandidateLike],
    instruction: str,
    request_id: str | None,
    at: datetime | None,
    clarify: bool = False,
    session_id: str | None = None,
) -> RankRequest:
    """A request for a ranking; its own id names it where the app gives none."""
    common = envelope(at)
    event = {
        "request_id": request_id or common["event_id"],
        "user_id": user_id,
        "domain": domain,
        "instruction": instruction,
        "candidates": [candidate(each) for each in candidates],
        "clarify": clarify,
        "session_id": session_id,
    }
    return RankRequest.model_validate({**common, **event})


def ranking(
    user_id: str,
    domain: str,
    candidates: Iterable[CandidateLike],
    instruction: str,
    ranking_id: str | None,
    skill: SlimSkill | None,
    arm: str | None,
    at: datetime | None,
    session_id: str | None,
) -> Ranking:
    """What was shown; its own id names it where the app gives none."""
    common = envelope(at)
    told = Injected(arm=arm)
    if skill is not None:
        told = Injected(arm=arm, skill_version=skill.skill_version, slim_skill=skill.text)
    event = {
        "ranking_id": ranking_id or common["event_id"],
        "user_id": user_id,
        "domain": domain,
        "instruction": instruction,
        "candidates": [candidate(each) for each in candidates],
        "injected": told,
        "session_id": session_id,
    }
    return Ranking.model_validate({**common, **event})


def selection(
    ranking: Ranking | RankRequest | None,
    item_id: str | None,
    user_id: str | None,
    ranking_id: str | None,
    at: datetime | None,
    event_id: str | None,
    *,
    others: Iterable[str] = (),
    none_taken: bool = False,
    session_id: str | None = None,
    **more: Any,
) -> Selection:
    """What was taken from a ranking, or from the one of these ids, or that nothing was.

    Raises:
        NotShown: the ranking has no such item.
        TypeError: neither a ranking is given nor the ids of one, or both are.
    """
    if (ranking is None) is (user_id is None or ranking_id is None) or (ranking and (user_id or ranking_id)):
        raise TypeError("say of which ranking: the ranking itself, or user_id=... and ranking_id=...")
    if item_id is None and not none_taken:
        raise TypeError("say which item was taken: item_id=..., or that none was: none_of_these(...)")
    taken = tuple(others)
    if ranking is not None:
        user_id = ranking.user_id
        ranking_id = ranking.request_id if isinstance(ranking, RankRequest) else ranking.ranking_id
        session_id = session_id or ranking.session_id
        for each in taken if item_id is None else (item_id, *taken):
            _check_was_shown(ranking, each)
    event = {
        "user_id": user_id,
        "ranking_id": ranking_id,
        "item_id": item_id,
        "others": taken,
        "none_taken": none_taken,
        "session_id": session_id,
        **more,
    }
    return Selection.model_validate({**envelope(at, event_id), **event})


def _check_was_shown(ranking: Ranking | RankRequest, item_id: str) -> None:
    shown = [each.item_id for each in ranking.candidates]
    if item_id not in shown:
        more = f" and {len(shown) - NAMED_ITEMS} more" if len(shown) > NAMED_ITEMS else ""
        raise NotShown(f"{item_id!r} does not stand in the ranking, which has {', '.join(shown[:NAMED_ITEMS])}{more}")


def forget(
    user_id: str, domain: str | None, attribute_id: str | None, actor: str, at: datetime | None
) -> ForgetRequest:
    """A request to forget a person, a domain of theirs, or one line.

    Raises:
        TypeError: a line is named without its domain.
    """
    if attribute_id is not None and domain is None:
        raise TypeError("a line is forgotten within a domain: name it too")
    line = line_of(user_id, domain, attribute_id) if attribute_id is not None and domain is not None else None
    event = {"user_id": user_id, "domain": domain, "line": line, "actor": actor}
    return ForgetRequest.model_validate({**envelope(at), **event})


def command(
    user_id: str,
    domain: str,
    action: Action | str,
    actor: str,
    reason: str,
    at: datetime | None,
    needed: Mapping[str, Any],
) -> SkillCommand:
    """One act of a person on one skill."""
    event = {"user_id": user_id, "domain": domain, "action": action, "actor": actor, "reason": reason, **needed}
    return SkillCommand.model_validate({**envelope(at), **event})


def card_command(
    user_id: str,
    action: CardAction | str,
    line_id: str | None,
    line: CardStated | Mapping[str, Any] | None,
    actor: str,
    reason: str,
    at: datetime | None,
) -> CardCommand:
    """One act of a person on their card."""
    stated = line if line is None or isinstance(line, CardStated) else CardStated.model_validate(line)
    event = {"user_id": user_id, "action": CardAction(action), "line_id": line_id, "line": stated}
    return CardCommand.model_validate({**envelope(at), **event, "actor": actor, "reason": reason})
