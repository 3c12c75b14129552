"""Plans of choices, with all that they are ranked by."""

import math
import random
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate
from pathlib import Path

from evaluation.baselines import standard
from evaluation.community import Community
from evaluation.dataset import NEGATIVES, Sequences, generator, sequences
from evaluation.exceptions import QualityError
from evaluation.simulation import Progress, no_progress
from operators.graph.facets import Retrieved
from schemas import Candidate, GlobalSkill, ItemFacts, derived_id
from streams.importers.dataset import Visit

# The number of items that a recommender picks ten from.
EXPOSED_OF = 30
# The weights of a recommender's popularity and noise next to its companions, in standard deviations of the list.
POPULARITY, NOISE = 0.3, 0.3


class ListKind(StrEnum):
    """How the items beside the taken one come about.

    `uniform` draws every work with the same chance, `popular` every item by how often it is taken, and `exposed` shows
    what a recommender would pick from items drawn by popularity.
    """

    UNIFORM = "uniform"
    POPULAR = "popular"
    EXPOSED = "exposed"


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice among ten items in the order of presentation.

    `request_id` is independent of arms and of the history, so that ties are broken alike. If not `shown`, the list
    would not have come about: the visit is learned from without one. A `rejected` list of one was left. `popularity`
    counts other users.
    """

    request_id: str
    taken: Visit
    candidates: tuple[str, ...]
    shown: bool = True
    rejected: bool = False
    context: Retrieved = field(default_factory=Retrieved)
    popularity: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """All choices of the players, after `history` visits each.

    `populations` has the domain's global skill without the player. `lists` is None for lists that users really saw;
    with `has_times`, their choices are played in the order of their times.
    """

    data: str
    domain: str
    lists: ListKind | None
    history: int
    items: Mapping[str, Candidate]
    facts: Mapping[str, ItemFacts]
    past: Mapping[str, tuple[Visit, ...]]
    choices: Mapping[str, tuple[Choice, ...]]
    populations: Mapping[str, GlobalSkill]
    has_times: bool = False

    def of(self, users: Collection[str]) -> "Plan":
        """The plan of these players only."""
        return replace(
            self,
            past={user_id: self.past[user_id] for user_id in users},
            choices={user_id: self.choices[user_id] for user_id in users},
            populations={user_id: self.populations[user_id] for user_id in users},
        )


class CandidatePool:
    """Draws items that a user never takes, of different works."""

    def __init__(self, found: Sequences, kind: ListKind) -> None:
        weights = dict.fromkeys(found.works, 1) if kind is ListKind.UNIFORM else found.popularity
        # Sorted, so that draws do not depend on the file's order.
        self._items = sorted(weights)
        self._cumulative = list(accumulate(weights[item] for item in self._items))
        self._work = found.work
        self.beside = EXPOSED_OF - 1 if kind is ListKind.EXPOSED else NEGATIVES
        self.most_met = len({found.work[item] for item in self._items}) - self.beside
        """A user who has met more works cannot be shown a list."""

    def draw(self, chance: random.Random, met: Collection[str]) -> list[str]:
        """The items beside a taken one, of none of these works."""
        refused, drawn = set(met), list[str]()
        while len(drawn) < self.beside:
            item = self._items[bisect_left(self._cumulative, chance.randrange(self._cumulative[-1]) + 1)]
            if self._work[item] not in refused:
                refused.add(self._work[item])
                drawn.append(item)
        return drawn


def expose(
    taken: str,
    others: Sequence[str],
    companions: Mapping[str, float],
    popularity: Mapping[str, int],
    chance: random.Random,
) -> tuple[list[str], bool]:
    """A recommender's list, and whether it has the taken item itself.

    The ten best by companions, popularity and noise. If the taken item is not among them, it comes in the last one's
    place: no user would have seen it in this list, so such a choice is learned from as a visit without a list and
    measures nothing.
    """
    items = [taken, *others]
    near = standard([companions.get(item, 0.0) for item in items])
    liked = standard([math.log1p(popularity.get(item, 0)) for item in items])
    scores = {
        item: one + POPULARITY * other + NOISE * chance.gauss()
        for item, one, other in zip(items, near, liked, strict=True)
    }
    shown = sorted(items, key=lambda item: (-scores[item], item))[: NEGATIVES + 1]
    if taken in shown:
        return shown, True
    return [*shown[:-1], taken], False


class ListBuilder:
    """Makes choices: draws the items beside a taken one."""

    def __init__(self, found: Sequences, kind: ListKind, seed: int, purpose: str = "stream") -> None:
        self._found, self.kind, self._seed = found, kind, seed
        self._purpose = f"{purpose} {kind.value}"
        self._shelf = CandidatePool(found, kind)
        self.most_met = self._shelf.most_met

    def choice(self, user_id: str, place: int, context: Retrieved, population: GlobalSkill) -> Choice:
        """A visit as a choice, with the context before it."""
        found = self._found
        taken = found.visits[user_id][place]
        draw = generator(self._seed, f"{self._purpose} {place}", user_id)
        others = self._shelf.draw(draw, found.met(user_id))
        items, shown = [taken.item_id, *others], True
        if self.kind is ListKind.EXPOSED:
            popularity = {item: found.popularity[item] - (item == taken.item_id) for item in items}
            items, shown = expose(taken.item_id, others, context.companions, popularity, draw)
        draw.shuffle(items)
        near = {item: context.companions[item] for item in items if item in context.companions}
        return Choice(
            request_id=derived_id(self._purpose, found.domain, str(self._seed), user_id, str(place)),
            taken=taken,
            candidates=tuple(items),
            shown=shown,
            context=replace(context, companions=near),
            popularity={item: population.items[item] for item in items if item in population.items},  # type: ignore[index]
        )


def plans(
    path: Path,
    lists: Sequence[ListKind],
    histories: Sequence[int],
    users: int,
    *,
    most: int = 32,
    seed: int = 0,
    domain: str | None = None,
    progress: Progress = no_progress,
) -> list[Plan]:
    """A plan for each kind of list and length of history.

    The list that a player is shown at a visit is the same whatever the history, and depends on no other player; a
    smaller sample of users is part of every larger one with the same seed.

    Raises:
        DataSetError: the folder cannot be read.
        QualityError: fewer than two users can be played.
    """
    found = sequences(path, domain)
    listers = {kind: ListBuilder(found, kind, seed) for kind in lists}
    players: dict[tuple[ListKind, int], list[str]] = {}
    for kind, lister in listers.items():
        for history in histories:
            players[kind, history] = able = found.players(users, seed, history, lister.most_met)
            if len(able) < 2:
                raise QualityError(
                    f"{path} gives {len(able)} users who can choose from {kind.value} lists after {history} visits: "
                    "at least 2 with more visits than that are needed, and a catalogue of which they leave most"
                )
    community = Community.of(found, progress)
    populations: dict[str, GlobalSkill] = {}
    choices: dict[tuple[ListKind, str], dict[int, Choice]] = {}
    everybody = sorted({user_id for able in players.values() for user_id in able})
    for done, user_id in enumerate(everybody, 1):
        population = populations[user_id] = community.population(user_id)
        wanted = [key for key, able in players.items() if user_id in able]
        first = min(history for _, history in wanted)
        last = min(max(history for _, history in wanted) + most, len(found.visits[user_id]))
        for place, context in enumerate(community.contexts(user_id, population, first, last - 1), first):
            for kind in dict.fromkeys(kind for kind, _ in wanted):
                made = listers[kind].choice(user_id, place, context, population)
                choices.setdefault((kind, user_id), {})[place] = made
        progress("lists", done, len(everybody))
    return [
        Plan(
            data=found.data,
            domain=found.domain,
            lists=kind,
            history=history,
            items=found.items,
            facts=community.facts,
            past={user_id: found.visits[user_id][:history] for user_id in able},
            choices={
                user_id: tuple(
                    choice for place, choice in choices[kind, user_id].items() if history <= place < history + most
                )
                for user_id in able
            },
            populations={user_id: populations[user_id] for user_id in able},
        )
        for (kind, history), able in players.items()
    ]
