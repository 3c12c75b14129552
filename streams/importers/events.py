"""Events of a data set, with ids derived from the data: importing it again gives the same events."""

import random
from collections.abc import Iterator
from itertools import zip_longest

from schemas import Candidate, Interaction, Item, Ranking, Selection, derived_id
from streams.importers.dataset import BEGINNING, Dataset, Visit

SLATE = 10
"""Items in a synthetic ranking: the paper's N."""
_TRIES = 20


def catalogue(data: Dataset) -> Iterator[Item]:
    """Yield all items."""
    for item in data.items.values():
        event_id = derived_id("import-item", data.domain, item.item_id)
        yield Item.model_validate({"event_id": event_id, "occurred_at": BEGINNING, "domain": data.domain, "item": item})


def interactions(data: Dataset, share: float = 1.0) -> Iterator[Interaction]:
    """Yield the first share of every user's visits, user by user."""
    for user_id, visits in data.histories.items():
        for visit in visits[: int(len(visits) * share)]:
            base = {"event_id": _id("interaction", data, user_id, visit), "occurred_at": visit.at, "user_id": user_id}
            yield Interaction.model_validate(base | {"domain": data.domain, "item": data.items[visit.item_id]})


def replay(data: Dataset, share: float) -> Iterator[list[tuple[Ranking, Selection]]]:
    """Yield the visits after that share as selections from synthetic rankings, in rounds of one choice per user.

    The other items of a ranking are ones that the user never visits, drawn by popularity, so that popularity does not
    reveal the answer. The visit seeds the draw.
    """
    popular = [visit.item_id for visits in data.histories.values() for visit in visits]
    later = [
        [(user_id, visit) for visit in visits[int(len(visits) * share) :]] for user_id, visits in data.histories.items()
    ]
    seen = {user_id: {visit.item_id for visit in visits} for user_id, visits in data.histories.items()}
    for round_ in zip_longest(*later):
        choices = [choice for choice in round_ if choice is not None]
        yield [_choice(data, user_id, visit, popular, seen[user_id]) for user_id, visit in choices]


def count(data: Dataset, share: float) -> int:
    """Return the number of visits in the first share of all histories."""
    return sum(int(len(visits) * share) for visits in data.histories.values())


def _choice(data: Dataset, user_id: str, visit: Visit, popular: list[str], seen: set[str]) -> tuple[Ranking, Selection]:
    ranking_id = _id("ranking", data, user_id, visit)
    slate = _slate(data, visit, popular, seen, random.Random(ranking_id))  # noqa: S311 - a reproducible draw
    base = {"occurred_at": visit.at, "user_id": user_id, "ranking_id": ranking_id}
    ranking = {**base, "event_id": ranking_id, "domain": data.domain, "candidates": slate}
    selection = {**base, "event_id": _id("selection", data, user_id, visit), "item_id": visit.item_id}
    return Ranking.model_validate(ranking), Selection.model_validate(selection)


def _slate(data: Dataset, visit: Visit, popular: list[str], seen: set[str], draw: random.Random) -> list[Candidate]:
    others: dict[str, None] = {}
    for _ in range(_TRIES * SLATE):
        if len(others) == SLATE - 1:
            break
        item_id = draw.choice(popular)
        if item_id not in seen:
            others[item_id] = None
    if len(others) < SLATE - 1:  # in a small data set the user has visited nearly everything popular
        rest = [item_id for item_id in data.items if item_id not in seen and item_id not in others]
        others.update(dict.fromkeys(draw.sample(rest, min(len(rest), SLATE - 1 - len(others)))))
    slate = [visit.item_id, *others]
    draw.shuffle(slate)
    return [data.items[item_id] for item_id in slate]


def _id(kind: str, data: Dataset, user_id: str, visit: Visit) -> str:
    return derived_id(f"import-{kind}", data.domain, user_id, visit.item_id, visit.at.isoformat())
