"""The state that a split's training visits leave in the stream, computed by the stream's own operators."""

from collections import deque
from dataclasses import dataclass, field

from evaluation.arms.arm import Progress
from evaluation.case import Split
from operators.global_skill import DEFAULT_PRIOR, GlobalLimits, Population, global_skill
from operators.neighbourhood import Gathered, Neighbourhood, near
from operators.propagate import GraphLimits, heard, neighbour_of, sampled, takers_of, touches, with_taken
from operators.retrieve import Retrieved
from operators.statinit.prior import PriorLimits, observe
from schemas import (
    GlobalSkill,
    Interaction,
    ItemMemory,
    Memory,
    Profile,
    Taker,
    derived_id,
)
from schemas.fields import Domain, UserId
from streams.importers.dataset import BEGINNING, Visit

_EVERY = 200
DEFAULT_GRAPH = GraphLimits()


@dataclass
class World:
    """The state of all users after training.

    Attributes:
        domain: the skills' domain.
        limits: the graph's limits.
        people: what the domain's global skill is counted from.
        profiles: profiles for StatInit, by user.
        memories: what users took, by user.
        population: the domain's global skill.
        contexts: contexts already read, by user and whether with the community.
    """

    domain: str
    limits: GraphLimits
    people: Population
    profiles: dict[str, Profile] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    population: GlobalSkill | None = None
    contexts: dict[tuple[str, bool], Retrieved] = field(default_factory=dict)
    _takers: dict[str, dict[str, Taker]] = field(default_factory=dict)
    _items: dict[str, Gathered] = field(default_factory=dict)

    def take(self, user_id: str, visit: Visit, split: Split, event_id: str) -> None:
        """Applies a user's choice of an item to their memory and to the items that it touches."""
        facts = split.facts[visit.item_id]
        memory = with_taken(self.memories.get(user_id), user_id, self.domain, facts, visit.at, event_id)
        self.memories[user_id] = memory
        for item_id, taker in takers_of(touches(memory, visit.item_id, self.limits)):
            takers = self._takers.setdefault(item_id, {})
            takers[user_id] = heard(takers.get(user_id), taker)
            self._items.pop(item_id, None)

    def near(self, user_id: str, memory: Memory | None = None) -> Neighbourhood | None:
        """What the items that the user took tell them; None if the user took nothing.

        Args:
            user_id: whose own choices are left out of it.
            memory: what the user took; by default all of it.
        """
        memory = memory or self.memories.get(user_id)
        if memory is None:
            return None
        return near((self._item(taken.item_id) for taken in memory.taken), neighbour_of(user_id, self.limits.secret))

    def _item(self, item_id: str) -> Gathered:
        known = self._items.get(item_id)
        if known is None:
            takers = sampled(item_id, list(self._takers.get(item_id, {}).values()))
            item = ItemMemory(domain=self.domain, item_id=item_id, takers=takers)
            known = self._items[item_id] = Gathered(item, self.limits)
        return known


_newest: deque[tuple[Split, World]] = deque(maxlen=1)
"""A world of a million visits takes minutes and gigabytes."""


def shared(split: Split, progress: Progress) -> World:
    """The world of a split, built once for all arms that follow each other, and therefore read-only."""
    for known, world in _newest:
        if known is split:
            return world
    world = build(split, progress)
    _newest.append((split, world))
    return world


def build(
    split: Split,
    progress: Progress,
    *,
    limits: GraphLimits = DEFAULT_GRAPH,
    prior: PriorLimits = DEFAULT_PRIOR,
) -> World:
    """The world after all training visits.

    Args:
        split: the split.
        progress: receives the number of users done.
        limits: the graph's limits.
        prior: the profiles' settings.
    """
    domain = Domain(split.domain)
    people = Population(domain, prior)
    world = World(split.domain, limits, people)
    for done, (user_id, visits) in enumerate(split.training.items()):
        for place, visit in enumerate(visits):
            event_id = derived_id("visit", user_id, str(place))
            world.take(user_id, visit, split, event_id)
            interaction = Interaction.model_construct(
                event_id=event_id,
                occurred_at=visit.at,
                user_id=UserId(user_id),
                domain=domain,
                item=split.items[visit.item_id],
            )
            facts = split.facts[visit.item_id].facts
            world.profiles[user_id] = observe(world.profiles.get(user_id), interaction, facts, limits=prior)
        if user_id in world.profiles:
            people.add(world.profiles[user_id])
            people.met(world.memories[user_id])
        if not done % _EVERY:
            progress(done, len(split.training))
    world.population = global_skill(people, derived_id("population", split.data), BEGINNING, GlobalLimits())
    progress(len(split.training), len(split.training))
    return world
