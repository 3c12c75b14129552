"""The state that a split's training visits leave in the stream, by the stream's own operators.

One thing is different: here everybody has heard the newest. In the stream an item tells its earlier takers of new ones
when a share of them has changed (`GraphLimits.renewal`), so that what a user knows of an item may be older.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchmarks.quality.arms.arm import Progress
from benchmarks.quality.case import Split
from operators.global_skill import GlobalLimits, Population, global_skill
from operators.propagate import GraphLimits, signal_to, touches, with_taken
from operators.retrieve import Retrieved
from operators.statinit.prior import PriorLimits, observe
from schemas import (
    MAX_SIGNALS,
    MAX_TAKERS,
    GlobalSkill,
    Interaction,
    ItemMemory,
    Memory,
    Neighbourhood,
    Profile,
    Taker,
    derived_id,
)
from streams.importers.dataset import BEGINNING, Visit

_EVERY = 200
_PRIOR, _GRAPH = PriorLimits(), GraphLimits()


@dataclass
class World:
    """Everybody's state after training.

    Attributes:
        domain: whose skills these are.
        profiles: by user, for StatInit.
        memories: by user: what they took.
        population: the domain's global skill.
        contexts: what arms have read of it, by user, version of their memory, and whether others were heard.
    """

    domain: str
    limits: GraphLimits
    profiles: dict[str, Profile] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    population: GlobalSkill | None = None
    contexts: dict[tuple[str, int, bool], Retrieved] = field(default_factory=dict)
    _takers: dict[str, dict[str, Taker]] = field(default_factory=dict)
    _items: dict[str, ItemMemory] = field(default_factory=dict)

    def take(self, user_id: str, visit: Visit, split: Split, event_id: str) -> None:
        """A user takes an item: their memory and the items that are touched know it."""
        memory = self.remembering(self.memories.get(user_id), user_id, visit, split, event_id)
        self.memories[user_id] = memory
        for touch in touches(memory, visit.item_id, self.limits):
            self._takers.setdefault(touch.item_id, {})[user_id] = touch.taker
            self._items.pop(touch.item_id, None)

    def remembering(self, memory: Memory | None, user_id: str, visit: Visit, split: Split, event_id: str) -> Memory:
        """A user's memory after one more visit; the world does not hear of it."""
        return with_taken(memory, user_id, self.domain, split.facts[visit.item_id], visit.at, event_id)

    def near(self, memory: Memory | None) -> Neighbourhood | None:
        """What the items that a user took, by their memory, tell them; None for somebody who took nothing."""
        if memory is None:
            return None
        told = (signal_to(self._item(taken.item_id), memory.user_id, self.limits) for taken in memory.taken)
        signals = [signal for signal in told if signal is not None]
        return Neighbourhood(
            user_id=memory.user_id, domain=self.domain, epoch=len(signals), signals=tuple(signals[-MAX_SIGNALS:])
        )

    def _item(self, item_id: str) -> ItemMemory:
        known = self._items.get(item_id)
        if known is None:
            newest = sorted(self._takers.get(item_id, {}).values(), key=lambda taker: (taker.at, taker.user_id))
            known = ItemMemory(domain=self.domain, item_id=item_id, takers=tuple(newest[-MAX_TAKERS:]))
            self._items[item_id] = known
        return known


@dataclass(frozen=True)
class Worlds:
    """What arms share, and therefore only read.

    Attributes:
        before: without the visits that the warm-up shows as choices.
        after: with everybody's training visits; the same whatever the number of rounds.
    """

    before: World
    after: World


_newest: deque[tuple[Split, int, Worlds]] = deque(maxlen=2)
"""Of the rounds of SAGER and of the hosts: a world of a million visits takes minutes and gigabytes."""


def shared(split: Split, rounds: int, progress: Progress) -> Worlds:
    """The worlds before and after a warm-up of so many rounds; made once for all arms that ask one after the other."""
    for known, held, worlds in _newest:
        if known is split and held == rounds:
            return worlds
    tested = {case.user_id for case in split.cases}

    def held_back(user_id: str) -> int:
        return rounds_of(split, user_id, rounds) if user_id in tested else 0

    before = build(split, progress, held_back=held_back)
    worlds = Worlds(before, _after(before, split, held_back) if rounds else before)
    _newest.append((split, rounds, worlds))
    return worlds


def rounds_of(split: Split, user_id: str, rounds: int) -> int:
    """How many of a user's visits come as choices: something has to be left to start from."""
    return max(0, min(rounds, len(split.training[user_id]) - 1))


def build(
    split: Split,
    progress: Progress,
    *,
    limits: GraphLimits = _GRAPH,
    held_back: Callable[[str], int] = lambda user_id: 0,
) -> World:
    """The world after everybody's training visits.

    Args:
        split: whose.
        progress: is told the users that are done.
        limits: of the graph.
        held_back: how many of a user's last visits are left out, because they will come as choices.
    """
    world = World(split.domain, limits)
    for done, (user_id, visits) in enumerate(split.training.items()):
        _visit(world, split, user_id, 0, len(visits) - held_back(user_id))
        if not done % _EVERY:
            progress(done, len(split.training))
    world.population = _population(world, split)
    progress(len(split.training), len(split.training))
    return world


def _after(before: World, split: Split, held_back: Callable[[str], int]) -> World:
    """A world of its own in which the visits that were held back have happened too."""
    takers = {item_id: dict(known) for item_id, known in before._takers.items()}
    profiles, memories = dict(before.profiles), dict(before.memories)
    world = replace(before, profiles=profiles, memories=memories, _takers=takers, _items={}, contexts={})
    for user_id, visits in split.training.items():
        _visit(world, split, user_id, len(visits) - held_back(user_id), len(visits))
    world.population = _population(world, split)
    return world


def _visit(world: World, split: Split, user_id: str, first: int, end: int) -> None:
    """The user's visits from one place to another."""
    for place, visit in enumerate(split.training[user_id][first:end], first):
        event_id = derived_id("visit", user_id, str(place))
        world.take(user_id, visit, split, event_id)
        interaction = Interaction.model_construct(
            event_id=event_id, user_id=user_id, domain=split.domain, item=split.items[visit.item_id]
        )
        world.profiles[user_id] = observe(
            world.profiles.get(user_id), interaction, split.facts[visit.item_id].facts, limits=_PRIOR
        )


def _population(world: World, split: Split) -> GlobalSkill:
    people = Population(split.domain, _PRIOR)
    for user_id in split.training:
        if user_id in world.profiles:
            people.add(world.profiles[user_id])
            people.met(world.memories[user_id])
    return global_skill(people, derived_id("population", split.data), BEGINNING, GlobalLimits())
