"""The choices that benchmarks send: ten of the built-in films are shown, one is taken. The same ones at every call."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from sager_client import EventProducer, Ranking, Selection
from streams.local.demo import catalogue

DOMAIN = "films"
SHOWN = 10


class Choice(NamedTuple):
    """What a person was shown, and what they took."""

    ranking: Ranking
    selection: Selection


def choices(count: int, users: int, name: str = "choice", seed: int = 1) -> Iterator[Choice]:
    """So many choices, one user after the other; occurred now.

    Args:
        count: how many.
        users: of how many users, `user-0` and so on.
        name: begins their ids. Each call on one deployment needs another one.
        seed: which films.
    """
    films, rng = catalogue.load()[DOMAIN], random.Random(seed)
    for number in range(count):
        shown, at = rng.sample(films, SHOWN), datetime.now(UTC)
        told = {"occurred_at": at, "user_id": f"user-{number % users}", "ranking_id": f"{name}-{number}"}
        ranking = Ranking.model_validate(
            {**told, "event_id": f"{name}-{number}-shown", "domain": DOMAIN, "candidates": shown}, from_attributes=True
        )
        taken = shown[rng.randrange(SHOWN)].item_id
        yield Choice(
            ranking, Selection.model_validate({**told, "event_id": f"{name}-{number}-taken", "item_id": taken})
        )


def send(events: EventProducer, chosen: Iterator[Choice]) -> None:
    """Send choices as an app does, as fast as it goes."""
    for choice in chosen:
        events.send(choice.ranking)
        events.send(choice.selection)
