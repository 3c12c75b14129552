"""The four app events, checked, keyed and partitioned as the pipeline expects them."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from schemas import (
    Candidate,
    Event,
    Injected,
    Interaction,
    Item,
    Ranking,
    RankRequest,
    Selection,
    SlimSkill,
    encode,
    topic_of,
)
from streams.kafka.clients import partition_of
from streams.kafka.producer import BY_KEY, Outbox
from streams.settings import Settings

FLUSH_SECONDS = 30.0

EventT = TypeVar("EventT", bound=Event)
CandidateLike = Candidate | Mapping[str, Any]


class EventProducer:
    """Produces an app's events. Use it as a context manager: leaving it waits until the broker has them all.

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        settings: the whole configuration, for whoever needs another prefix or partition count.
    """

    def __init__(self, bootstrap: str | None = None, settings: Settings | None = None) -> None:
        chosen = settings or Settings()
        self._settings = chosen.model_copy(update={"bootstrap": bootstrap}) if bootstrap else chosen
        self._outbox = Outbox(self._settings)

    def item(self, domain: str, item: CandidateLike, *, at: datetime | None = None) -> Item:
        """Add an item to the catalogue, or replace it."""
        return self.send(Item.model_validate({**_envelope(at), "domain": domain, "item": _candidate(item)}))

    def interaction(
        self, user_id: str, domain: str, item: CandidateLike, *, at: datetime | None = None, event_id: str | None = None
    ) -> Interaction:
        """A past positive event, for the statistical prior."""
        event = {"user_id": user_id, "domain": domain, "item": _candidate(item)}
        return self.send(Interaction.model_validate({**_envelope(at, event_id), **event}))

    def rank_request(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        request_id: str | None = None,
        at: datetime | None = None,
    ) -> RankRequest:
        """Ask for a ranking; the answer comes on the topic `rankings` with this `request_id` as `ranking_id`."""
        envelope = _envelope(at)
        event = {
            "request_id": request_id or envelope["event_id"],
            "user_id": user_id,
            "domain": domain,
            "instruction": instruction,
            "candidates": [_candidate(candidate) for candidate in candidates],
        }
        return self.send(RankRequest.model_validate({**envelope, **event}))

    def ranking(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        ranking_id: str | None = None,
        skill: SlimSkill | None = None,
        arm: str | None = None,
        at: datetime | None = None,
    ) -> Ranking:
        """What the user was shown, first place first, where the app ranks by itself.

        Say with `skill` which slim skill had its say in the order: then choices with and without one can be compared.
        `arm` names the arm of an experiment of yours; metrics and DuckDB then compare by that.
        """
        envelope = _envelope(at)
        told = Injected(arm=arm)
        if skill is not None:
            told = Injected(arm=arm, skill_version=skill.skill_version, slim_skill=skill.text)
        event = {
            "ranking_id": ranking_id or envelope["event_id"],
            "user_id": user_id,
            "domain": domain,
            "instruction": instruction,
            "candidates": [_candidate(candidate) for candidate in candidates],
            "injected": told,
        }
        return self.send(Ranking.model_validate({**envelope, **event}))

    def selection(
        self,
        ranking: Ranking | RankRequest,
        item_id: str,
        *,
        skill_version: int | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Selection:
        """The item that the user took from a ranking."""
        event = {
            "user_id": ranking.user_id,
            "ranking_id": ranking.ranking_id if isinstance(ranking, Ranking) else ranking.request_id,
            "item_id": item_id,
            "skill_version": skill_version,
        }
        return self.send(Selection.model_validate({**_envelope(at, event_id), **event}))

    def send(self, event: EventT) -> EventT:
        """Produce any event of the registry on its topic, and give it back."""
        topic = topic_of(type(event))
        user_id = getattr(event, "user_id", None)
        # Explicit, so that a record keyed by user and domain lands beside its user's others.
        partition = BY_KEY if user_id is None else partition_of(user_id, self._settings.partitions)
        self._outbox.send(topic.name(self._settings.prefix), topic.key_of(event), encode(event), partition)
        return event

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the broker has all that was sent.

        Raises:
            NotProduced: it took not all of it in time, or refused some.
        """
        self._outbox.flush(seconds, "events")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()


def _candidate(item: CandidateLike) -> Candidate:
    return item if isinstance(item, Candidate) else Candidate.model_validate(item)


def _envelope(at: datetime | None, event_id: str | None = None) -> dict[str, Any]:
    return {"event_id": event_id or uuid.uuid4().hex, "occurred_at": at or datetime.now(UTC)}
