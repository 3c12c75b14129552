"""What the stream knows of everybody else when a user chooses: the user-item graph, popularity, what is usual.

Everybody's whole history is in it, whatever its time, but for the user's own: of a player's own visits the graph tells
them none (`operators.neighbourhood` leaves the reader out), and what is counted over the population is counted without
them. So no figure that a player is ranked by depends on what they take now or later; tests change a player's future
and compare.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Self

from evaluation.arms.arm import Progress
from evaluation.case import Split
from evaluation.sequences import Sequences
from evaluation.world import World, build
from operators.global_skill import GlobalLimits, global_skill
from operators.propagate import with_taken
from operators.retrieve import Retrieved
from operators.statinit.parsers import facts_of, parser_for
from operators.steps import Start
from operators.steps import rank as ranking
from schemas import Contrast, GlobalSkill, ItemFacts, Memory, derived_id
from streams.importers.dataset import BEGINNING
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING


class Community:
    """The graph and the population of a data set.

    Args:
        found: the data set.
        facts: its items, parsed.
        world: what all its visits leave in the stream.
    """

    def __init__(self, found: Sequences, facts: Mapping[str, ItemFacts], world: World) -> None:
        self.facts = facts
        self._found = found
        self._world = world
        self._rank = ranking.Rank(privacy=PRIVACY, vouching=VOUCHING)

    @classmethod
    def of(cls, found: Sequences, progress: Progress) -> Self:
        """The community of everybody in a data set; `progress` receives the number of users done."""
        parser = parser_for(found.domain, {})
        facts = {item_id: facts_of(item, parser) for item_id, item in found.items.items()}
        return cls(found, facts, build(Split(found.data, found.domain, found.items, facts, found.visits), progress))

    def population(self, user_id: str) -> GlobalSkill:
        """The domain's global skill, counted without this user."""
        world = self._world
        others = world.people.without(world.profiles[user_id], world.memories[user_id])
        return global_skill(others, derived_id("population", self._found.data, user_id), BEGINNING, GlobalLimits())

    def told(self, user_id: str, population: GlobalSkill, first: int, last: int) -> Iterator[Retrieved]:
        """What the graph tells a user before each of these visits, or, as the last, after all that there are.

        Args:
            user_id: whose visits they are.
            population: the domain without them.
            first: after how many visits to begin.
            last: after how many to stop.
        """
        domain = self._found.domain
        memory: Memory | None = None
        # Of a state that retrieves, the skill is not read.
        event = Contrast.model_construct(event_id=derived_id("seed", user_id), occurred_at=BEGINNING)  # type: ignore[call-arg]
        nobody = Start(privacy=PRIVACY).skill(user_id, domain, event, None)
        popularity: dict[str, int] = dict(population.items)  # type: ignore[arg-type]  # an ItemId is a string
        visits = self._found.visits[user_id][:last]
        for place in range(len(visits) + 1):
            if place >= first:
                near = self._world.near(user_id, memory) if memory else None
                state = ranking.State(nobody, memory, near, popularity=popularity)
                now = memory.taken[-1].at if memory else BEGINNING
                yield self._rank.retrieve(state, domain, now + timedelta(seconds=1))
            if place < len(visits):
                visit, event_id = visits[place], derived_id("visit", user_id, str(place))
                memory = with_taken(memory, user_id, domain, self.facts[visit.item_id], visit.at, event_id)
