"""The user-item graph and population of a data set."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evaluation.dataset import Sequences
from evaluation.simulation import Progress
from evaluation.split import Split
from operators.global_skill import Population, global_skill
from operators.graph.facets import Retrieved
from operators.graph.items import (
    GraphLimits,
    add_taken,
    merge_taker,
    neighbour_of,
    sample_takers,
    takers_of,
    touch_items,
)
from operators.graph.neighbours import ItemSummary, Neighbourhood, neighbourhood_of
from operators.learning.prior import observe
from operators.statinit import facts_of, parser_for
from operators.steps import rank as ranking
from operators.steps.prior import SkillStart
from schemas import Candidate, Contrast, Domain, GlobalSkill, Interaction, ItemFacts, UserId, derived_id
from schemas.state import ItemMemory, Memory, Profile, Taker
from streams.importers.dataset import BEGINNING, Visit
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

_EVERY = 200
_LIMITS = GraphLimits()


def event_at_beginning(*parts: str) -> Contrast:
    """An event to start a skill: only id and time matter."""
    return Contrast.model_construct(event_id=derived_id("seed", *parts), occurred_at=BEGINNING)  # type: ignore[call-arg]


@dataclass
class World:
    """The state of all users after training, by user."""

    domain: str
    people: Population
    profiles: dict[str, Profile] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    population: GlobalSkill | None = None
    _takers: dict[str, dict[str, Taker]] = field(default_factory=dict)
    _items: dict[str, ItemSummary] = field(default_factory=dict)

    def take(self, user_id: str, visit: Visit, facts: ItemFacts, event_id: str) -> None:
        """Apply a visit to the user's memory and the touched items."""
        memory = add_taken(self.memories.get(user_id), user_id, self.domain, facts, visit.at, event_id)
        self.memories[user_id] = memory
        for item_id, taker in takers_of(touch_items(memory, visit.item_id, _LIMITS)):
            takers = self._takers.setdefault(item_id, {})
            takers[user_id] = merge_taker(takers.get(user_id), taker)
            self._items.pop(item_id, None)

    def near(self, user_id: str, memory: Memory | None = None) -> Neighbourhood | None:
        """The neighbourhood of a user by the other takers of remembered items."""
        memory = memory or self.memories.get(user_id)
        if memory is None:
            return None
        return neighbourhood_of(
            (self._item(taken.item_id) for taken in memory.taken), neighbour_of(user_id, _LIMITS.secret)
        )

    def _item(self, item_id: str) -> ItemSummary:
        known = self._items.get(item_id)
        if known is None:
            takers = sample_takers(item_id, list(self._takers.get(item_id, {}).values()))
            item = ItemMemory(domain=self.domain, item_id=item_id, takers=takers)
            known = self._items[item_id] = ItemSummary(item, _LIMITS)
        return known


# A world of a million visits takes minutes and gigabytes.
_newest: deque[tuple[Split, World]] = deque(maxlen=1)


def shared_world(split: Split, progress: Progress) -> World:
    """The read-only world of a split, shared by consecutive arms."""
    for known, world in _newest:
        if known is split:
            return world
    world = build(split.data, split.domain, split.items, split.facts, split.training, progress)
    _newest.append((split, world))
    return world


def build(
    data: str,
    domain: str,
    items: Mapping[str, Candidate],
    facts: Mapping[str, ItemFacts],
    visits: Mapping[str, tuple[Visit, ...]],
    progress: Progress,
) -> World:
    """The world after these visits."""
    people = Population(Domain(domain))
    world = World(domain, people)
    for done, (user_id, of_user) in enumerate(visits.items()):
        for place, visit in enumerate(of_user):
            event_id = derived_id("visit", user_id, str(place))
            world.take(user_id, visit, facts[visit.item_id], event_id)
            interaction = Interaction.model_construct(
                event_id=event_id,
                occurred_at=visit.at,
                user_id=UserId(user_id),
                domain=Domain(domain),
                item=items[visit.item_id],
            )
            known = world.profiles.get(user_id)
            world.profiles[user_id] = observe(known, interaction, facts[visit.item_id].facts)
        if user_id in world.profiles:
            people.add(world.profiles[user_id])
            people.add_memory(world.memories[user_id])
        if not done % _EVERY:
            progress("the community", done, len(visits))
    world.population = global_skill(people, derived_id("population", data), BEGINNING)
    progress("the community", len(visits), len(visits))
    return world


class Community:
    """Everything that is known of the other users when a user chooses.

    It includes their whole histories, whatever the time, but none of the user's own: the graph leaves the reader out,
    and the population is counted without them. So no figure that ranks for a player depends on what they take now or
    later; tests change a player's future and compare.
    """

    def __init__(self, found: Sequences, facts: Mapping[str, ItemFacts], world: World) -> None:
        self.facts = facts
        self._found = found
        self._world = world
        self._rank = ranking.RankStep(privacy=PRIVACY, gate=OUTPUT_GATE)

    @classmethod
    def of(cls, found: Sequences, progress: Progress) -> "Community":
        """The community of all users in a data set."""
        parser = parser_for(found.domain, {})
        facts = {item_id: facts_of(item, parser) for item_id, item in found.items.items()}
        return cls(found, facts, build(found.data, found.domain, found.items, facts, found.visits, progress))

    def population(self, user_id: str) -> GlobalSkill:
        """The domain's global skill, counted without this user."""
        world = self._world
        others = world.people.without(world.profiles[user_id], world.memories[user_id])
        return global_skill(others, derived_id("population", self._found.data, user_id), BEGINNING)

    def contexts(self, user_id: str, population: GlobalSkill, first: int, last: int) -> Iterator[Retrieved]:
        """The user's contexts after `first` to `last` of their visits."""
        for state, now in self.states(user_id, population, first, last):
            yield self._rank.retrieve(state, self._found.domain, now)

    def states(
        self, user_id: str, population: GlobalSkill, first: int, last: int
    ) -> Iterator[tuple[ranking.RankState, datetime]]:
        """The states that contexts are retrieved from, and the moments of it."""
        domain = self._found.domain
        memory: Memory | None = None
        # A state that only retrieves does not read its skill.
        unread = SkillStart(privacy=PRIVACY).skill(user_id, domain, event_at_beginning(user_id), None)
        popularity = taken_by(population)
        visits = self._found.visits[user_id][:last]
        for place in range(len(visits) + 1):
            if place >= first:
                near = self._world.near(user_id, memory) if memory else None
                now = memory.taken[-1].at if memory else BEGINNING
                yield ranking.RankState(unread, memory, near, popularity=popularity), now + timedelta(seconds=1)
            if place < len(visits):
                visit, event_id = visits[place], derived_id("visit", user_id, str(place))
                memory = add_taken(memory, user_id, domain, self.facts[visit.item_id], visit.at, event_id)


def taken_by(population: GlobalSkill | None) -> dict[str, int]:
    """The number of users who took each item, by the population."""
    return dict(population.items) if population else {}  # type: ignore[arg-type]  # an ItemId is a string
