"""The plan of a play: who chooses, what they took before, and each choice with all that there is to rank by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluation.arms.arm import Progress
from evaluation.draw import chance
from evaluation.exceptions import QualityError
from evaluation.sequences import Sequences, sequences
from evaluation.stream.community import Community
from evaluation.stream.lists import Lists, Shelf, expose
from operators.retrieve import Neighbours, Retrieved
from schemas import Candidate, GlobalSkill, ItemFacts, derived_id
from streams.importers import Visit

MOST_CHOICES = 32


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a user.

    Attributes:
        request_id: independent of arms and of the history, so that ties are broken in the same way.
        taken: the item taken, and when.
        candidates: the ids of ten items in the order of presentation, including the taken one.
        shown: whether the list came about as a list would; else the visit is learned from without one.
        context: what the community says; companions of the candidates only.
        popularity: how many others took a candidate.
    """

    request_id: str
    taken: Visit
    candidates: tuple[str, ...]
    shown: bool = True
    context: Retrieved = field(default_factory=Retrieved)
    popularity: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A whole plan.

    Attributes:
        data: the data set's name in reports.
        domain: the items' domain.
        lists: how the lists come about.
        history: how many of each player's visits come before the first choice.
        items, facts: the catalogue, raw and parsed.
        past: these visits, by player.
        choices: what follows, oldest first, by player.
        populations: the domain's global skill without the player.
    """

    data: str
    domain: str
    lists: Lists
    history: int
    items: Mapping[str, Candidate]
    facts: Mapping[str, ItemFacts]
    past: Mapping[str, tuple[Visit, ...]]
    choices: Mapping[str, tuple[Choice, ...]]
    populations: Mapping[str, GlobalSkill]

    @property
    def total(self) -> int:
        """The number of choices that are measured."""
        return sum(choice.shown for choices in self.choices.values() for choice in choices)


def plans(
    path: Path,
    lists: Sequence[Lists],
    histories: Sequence[int],
    users: int,
    *,
    most: int = MOST_CHOICES,
    seed: int = 0,
    domain: str | None = None,
    progress: Progress = lambda *_, **__: None,
) -> list[Plan]:
    """A plan for each kind of list and each length of history, in this order.

    What a player is shown at a visit is the same whatever the history, and depends on no other player.

    Args:
        path: a folder in any layout that `sager import` reads.
        lists: how lists come about.
        histories: how many of a player's first visits are history.
        users: how many players; a smaller sample is part of every larger one with the same seed.
        most: maximum choices per player, the first ones.
        seed: the seed of the sample, the draws and the presentation.
        domain: the items' domain, overriding their own.
        progress: receives the number of users done.

    Raises:
        DataSetError: the folder cannot be read.
        QualityError: fewer than two users can be played.
    """
    found = sequences(path, domain)
    listers = {kind: Lister(found, kind, seed) for kind in lists}
    players: dict[tuple[Lists, int], list[str]] = {}
    for kind, lister in listers.items():
        for history in histories:
            players[kind, history] = able = found.players(users, seed, history, lister.most_met)
            if len(able) < 2:
                raise QualityError(
                    f"{path} gives {len(able)} users who can choose from {kind.value} lists after {history} visits: "
                    "at least 2 with more visits than that are needed, and a catalogue of which they leave most"
                )
    return _Maker(found, listers, players, most, progress).plans()


class Lister:
    """Makes choices: draws what stands beside a taken item, and asks the community.

    Args:
        found: the data set.
        kind: how lists come about.
        seed: the seed of the draws and the presentation.
        purpose: a name for the draws.
    """

    def __init__(self, found: Sequences, kind: Lists, seed: int, purpose: str = "stream") -> None:
        self._found, self.kind, self._seed = found, kind, seed
        self._purpose = f"{purpose} {kind.value}"
        self._shelf = Shelf(found, kind)
        self.most_met = self._shelf.most

    def choice(self, user_id: str, place: int, context: Retrieved, population: GlobalSkill) -> Choice:
        """A user's visit as a choice.

        Args:
            user_id: whose it is.
            place: of the visit among theirs.
            context: what the community tells them before it.
            population: the domain without them.
        """
        found = self._found
        taken = found.visits[user_id][place]
        draw = chance(self._seed, f"{self._purpose} {place}", user_id)
        others = self._shelf.draw(draw, found.met(user_id))
        items, shown = [taken.item_id, *others], True
        if self.kind is Lists.EXPOSED:
            popularity = {item: found.popularity[item] - (item == taken.item_id) for item in items}
            items, shown = expose(taken.item_id, others, context.companions, popularity, draw)
        draw.shuffle(items)
        near = {item: context.companions[item] for item in items if item in context.companions}
        return Choice(
            request_id=derived_id(self._purpose, found.domain, str(self._seed), user_id, str(place)),
            taken=taken,
            candidates=tuple(items),
            shown=shown,
            # Without the neighbours, which hold the decoded graph, and the companions that nobody asks about.
            context=replace(context, companions=near, neighbours=Neighbours()),
            popularity={item: population.items[item] for item in items if item in population.items},  # type: ignore[index]
        )


class _Maker:
    def __init__(
        self,
        found: Sequences,
        listers: Mapping[Lists, Lister],
        players: Mapping[tuple[Lists, int], Sequence[str]],
        most: int,
        progress: Progress,
    ) -> None:
        self._found, self._listers, self._players, self._most = found, listers, players, most
        self._progress = progress
        self._community = Community.of(found, lambda done, total, *_: progress(done, total, "the community"))
        self._populations: dict[str, GlobalSkill] = {}
        self._choices: dict[tuple[Lists, str], dict[int, Choice]] = {}

    def plans(self) -> list[Plan]:
        everybody = sorted({user_id for able in self._players.values() for user_id in able})
        for done, user_id in enumerate(everybody):
            self._progress(done, len(everybody), "lists")
            self._prepare(user_id)
        self._progress(len(everybody), len(everybody), "lists")
        return [self._plan(kind, history, able) for (kind, history), able in self._players.items()]

    def _plan(self, kind: Lists, history: int, able: Sequence[str]) -> Plan:
        found = self._found
        return Plan(
            data=found.data,
            domain=found.domain,
            lists=kind,
            history=history,
            items=found.items,
            facts=self._community.facts,
            past={user_id: found.visits[user_id][:history] for user_id in able},
            choices={
                user_id: tuple(
                    choice
                    for place, choice in self._choices[kind, user_id].items()
                    if history <= place < history + self._most
                )
                for user_id in able
            },
            populations={user_id: self._populations[user_id] for user_id in able},
        )

    def _prepare(self, user_id: str) -> None:
        """Makes all choices of a player."""
        wanted = [key for key, able in self._players.items() if user_id in able]
        first, last = min(history for _, history in wanted), max(history for _, history in wanted)
        last = min(last + self._most, len(self._found.visits[user_id]))
        population = self._populations[user_id] = self._community.population(user_id)
        for place, context in enumerate(self._community.told(user_id, population, first, last - 1), first):
            for kind in dict.fromkeys(kind for kind, _ in wanted):
                choice = self._listers[kind].choice(user_id, place, context, population)
                self._choices.setdefault((kind, user_id), {})[place] = choice
