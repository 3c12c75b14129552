"""A data set as sequences of works, and random draws from it.

Draws are seeded by the run's seed and the user's id, so that they never depend on order, threads or `--users`.
"""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from schemas import Candidate
from streams.importers.dataset import Visit
from streams.importers.loader import load

# The number of items beside the taken one.
NEGATIVES = 9
# The facts that distinguish two items with the same title: the first group of which an item has all.
#
# Restaurants of a chain share a title but not a place; a remake has another director or year. A book's year is its
# edition's, so that authors alone decide.
IDENTIFYING = (("address",), ("latitude", "longitude"), ("authors",), ("author",), ("directors", "year"), ("year",))


class Negatives(StrEnum):
    """How the items beside the taken one are drawn."""

    UNIFORM = "uniform"
    POPULAR = "popular"


class Pool:
    """Draws negatives uniformly, or in proportion to visits (`met`)."""

    def __init__(self, met: Mapping[str, int], kind: Negatives) -> None:
        weights = {item: 1 if kind is Negatives.UNIFORM else times for item, times in met.items()}
        # Sorted, so that draws do not depend on the file's order.
        self._items = sorted(item for item, weight in weights.items() if weight)
        self._known = frozenset(self._items)
        self._cumulative = list(accumulate(weights[item] for item in self._items))

    def draw(self, chance: random.Random, count: int, refused: Collection[str]) -> list[str] | None:
        """Different items, none refused; None if there are too few."""
        refused = set(refused)
        if len(self._items) - len(refused & self._known) < count:
            return None
        drawn: dict[str, None] = {}
        while len(drawn) < count:
            [item] = chance.choices(self._items, cum_weights=self._cumulative)
            if item not in refused:
                drawn[item] = None
        return list(drawn)


def generator(seed: int, purpose: str, user_id: str) -> random.Random:
    """A random generator for one purpose and one user."""
    return random.Random(f"{seed}/{purpose}/{user_id}")


def shuffled(items: Iterable[str], seed: int, user_id: str) -> tuple[str, ...]:
    """The items in a user's order of presentation."""
    order = sorted(items)
    generator(seed, "presentation", user_id).shuffle(order)
    return tuple(order)


def sample(users: Collection[str], count: int | None, seed: int) -> Sequence[str]:
    """A sample of users, part of every larger sample."""
    if count is None or count >= len(users):
        return sorted(users)
    return sorted(sorted(users, key=lambda user_id: (generator(seed, "sample", user_id).random(), user_id))[:count])


@dataclass(frozen=True)
class Sequences:
    """The first visits of all users to works, oldest first.

    `work` has each item's work, by the work's first id.
    """

    data: str
    domain: str
    items: Mapping[str, Candidate]
    work: Mapping[str, str]
    visits: Mapping[str, tuple[Visit, ...]]

    @cached_property
    def works(self) -> tuple[str, ...]:
        """One edition per work, sorted: independent of the file's order."""
        return tuple(sorted(set(self.work.values())))

    @cached_property
    def popularity(self) -> Mapping[str, int]:
        """The number of users who took an item."""
        return Counter(visit.item_id for visits in self.visits.values() for visit in visits)

    def met(self, user_id: str) -> frozenset[str]:
        """The works that the user ever takes, never shown as others."""
        return frozenset(self.work[visit.item_id] for visit in self.visits[user_id])

    def players(self, count: int, seed: int, history: int, most: int) -> list[str]:
        """A sample of users with more than `history` visits, to `most`."""
        able = [user_id for user_id, visits in self.visits.items() if history < len(visits) <= most]
        return list(sample(able, count, seed))


def sequences(path: Path, domain: str | None = None) -> Sequences:
    """Read a data set in any layout of `sager import`."""
    data = load(path, domain=domain)
    work = works(data.items)
    visits = {user_id: tuple(_firsts(found, work)) for user_id, found in data.histories.items()}
    return Sequences(path.resolve().name, data.domain, data.items, work, visits)


def _firsts(visits: list[Visit], work: Mapping[str, str]) -> Iterator[Visit]:
    known: set[str] = set()
    for visit in visits:
        if work[visit.item_id] not in known:
            known.add(work[visit.item_id])
            yield visit


def works(items: Mapping[str, Candidate]) -> dict[str, str]:
    """Each item's work, since another edition would leak the answer.

    An item without distinguishing facts is a work of its own, because it may be another branch of a chain; but if the
    whole catalogue has none, titles alone decide.
    """
    marks = {item_id: _mark(item) for item_id, item in items.items()}
    only_titles = not any(marks.values())
    first: dict[tuple[str, str], str] = {}
    return {
        item_id: first.setdefault((title, mark), item_id)
        if (title := _plain(items[item_id].title)) and (mark or only_titles)
        else item_id
        for item_id, mark in marks.items()
    }


def _mark(item: Candidate) -> str:
    for fields in IDENTIFYING:
        values = [_value(item.metadata.get(name)) for name in fields]
        if all(values):
            return " / ".join((fields[0], *values))
    return ""


def _value(raw: Any) -> str:
    """A field in normal form, with the first of several people."""
    if isinstance(raw, float):
        return f"{raw:.4f}"  # of a latitude: some ten metres
    if isinstance(raw, (list, tuple)):
        raw = raw[0] if raw else ""
    return _plain(str(raw).split(",")[0]) if raw is not None else ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
