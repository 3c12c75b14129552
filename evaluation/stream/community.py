"""What the stream knows of everybody else when a user chooses: the user-item graph, popularity, what is usual.

Everybody's whole history is in it, whatever its time, but for the user's own: of a player's own visits the graph tells
them none (`operators.neighbourhood` leaves the reader out), and what is counted over the population is counted without
them. So no figure that a player is ranked by depends on what they take now or later; tests change a player's future
and compare.
"""

from collections.abc import Iterator
from datetime import timedelta

from evaluation import world as worlds
from evaluation.arms.arm import Progress
from evaluation.case import Split
from evaluation.sequences import Sequences
from operators.global_skill import GlobalLimits, global_skill
from operators.propagate import with_taken
from operators.retrieve import Retrieved
from operators.statinit.parsers import facts_of, parser_for
from operators.steps import Start
from operators.steps import rank as ranking
from schemas import Contrast, GlobalSkill, ItemFacts, Memory, derived_id
from streams.importers.dataset import BEGINNING


class Community:
    """The graph and the population of a data set.

    Attributes:
        facts: the parsed catalogue.

    Args:
        found: the data set.
        progress: receives the number of users done.
    """

    def __init__(self, found: Sequences, progress: Progress) -> None:
        parser = parser_for(found.domain, {})
        self._found = found
        self.facts: dict[str, ItemFacts] = {item_id: facts_of(item, parser) for item_id, item in found.items.items()}
        split = Split(found.data, found.domain, found.items, self.facts, found.visits)
        self._world = worlds.build(split, progress)
        self._rank = ranking.Rank()

    def population(self, user_id: str) -> GlobalSkill:
        """The domain's global skill, counted without this user."""
        world = self._world
        others = world.people.without(world.profiles[user_id], world.memories[user_id])
        return global_skill(others, derived_id("population", self._found.data, user_id), BEGINNING, GlobalLimits())

    def told(self, user_id: str, population: GlobalSkill, first: int, beyond: int) -> Iterator[Retrieved]:
        """What the graph tells a user before each of these visits.

        Args:
            user_id: whose visits they are.
            population: the domain without them.
            first: the first visit.
            beyond: the visit at which to stop.
        """
        domain = self._found.domain
        memory: Memory | None = None
        # Of a state that retrieves, the skill is not read.
        event = Contrast.model_construct(event_id=derived_id("seed", user_id), occurred_at=BEGINNING)  # type: ignore[call-arg]
        nobody = Start().skill(user_id, domain, event, None)
        popularity: dict[str, int] = dict(population.items)  # type: ignore[arg-type]  # an ItemId is a string
        for place, visit in enumerate(self._found.visits[user_id][:beyond]):
            if place >= first:
                near = self._world.near(user_id, memory) if memory else None
                state = ranking.State(nobody, memory, near, popularity=popularity)
                now = memory.taken[-1].at if memory else visit.at
                yield self._rank.retrieve(state, domain, now + timedelta(seconds=1))
            facts = self.facts[visit.item_id]
            memory = with_taken(memory, user_id, domain, facts, visit.at, derived_id("visit", user_id, str(place)))
