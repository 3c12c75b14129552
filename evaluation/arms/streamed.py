"""SAGER's arm as it ships: the stream up to a user's last training visit, and then the case.

All but a test user's last `tau` training visits are history, and those come as choices (paper 3.1, warm-up), from lists
drawn like those of the cases: what popularity is worth depends on how lists come about, and the weights learn it from
them. A visit counts once, in the history or as a choice. Then skills and weights are frozen.
"""

from collections.abc import Mapping

from evaluation import world as worlds
from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.options import ArmOptions
from evaluation.case import Case, Split
from evaluation.sequences import Sequences
from evaluation.stream.arms import ARMS, SAGER
from evaluation.stream.community import Community
from evaluation.stream.lists import Lists
from evaluation.stream.plan import Choice, Lister, Plan
from evaluation.stream.play import Play, Played
from evaluation.works import works
from operators.retrieve import Retrieved
from schemas import GlobalSkill

_EVERY = 20


class Streamed:
    """One arm of the stream evaluation, put before a split's cases.

    Attributes:
        name: its name in `--arm` and reports.
        played: the warm-up.

    Args:
        options: seed and `tau`.
        arm: the arm of the stream evaluation.
    """

    def __init__(self, options: ArmOptions, arm: str = SAGER) -> None:
        self.name = arm
        self._options = options
        self._arm = ARMS[arm]
        self._contexts: dict[str, Retrieved] = {}

    async def train(self, split: Split, progress: Progress) -> None:
        """Play the test users' warm-up."""
        self._split = split
        plan = self._plan(split, progress)
        self._play = Play(self._arm, plan, (), self._options.seed)
        self.played: Played = await self._play.run(lambda done, total, *_: progress(done, total, "warm-up"))

    async def rank(self, case: Case) -> Ranked:
        """Rank with the frozen skill and weights."""
        user_id = case.user_id
        items = [self._split.facts[item_id] for item_id in case.candidates]
        popularity: dict[str, int] = dict(self._populations[user_id].items)  # type: ignore[arg-type]  # an ItemId is a string
        skill, context = self.played.skills[user_id], self._contexts[user_id]
        return Ranked(self._play.order(skill, items, context, popularity, case.seed, case.instruction))

    def _plan(self, split: Split, progress: Progress) -> Plan:
        world = worlds.shared(split, progress)
        found = Sequences(split.data, split.domain, split.items, works(split.items), split.training)
        community = Community(found, split.facts, world)
        lister = Lister(found, Lists(split.candidates.value), self._options.seed, "warm-up")
        past, choices, populations = {}, {}, dict[str, GlobalSkill]()
        for done, case in enumerate(split.cases):
            user_id, visits = case.user_id, split.training[case.user_id]
            history = max(0, len(visits) - self._options.tau)
            population = populations[user_id] = community.population(user_id)
            contexts = dict(enumerate(community.told(user_id, population, history, len(visits)), history))
            self._contexts[user_id] = contexts.pop(len(visits))
            past[user_id] = visits[:history]
            choices[user_id] = self._choices(found, lister, user_id, contexts, population)
            if not done % _EVERY:
                progress(done, len(split.cases), "lists")
        self._populations: Mapping[str, GlobalSkill] = populations
        return Plan(split.data, split.domain, lister.kind, 0, split.items, split.facts, past, choices, populations)

    @staticmethod
    def _choices(
        found: Sequences, lister: Lister, user_id: str, contexts: Mapping[int, Retrieved], population: GlobalSkill
    ) -> tuple[Choice, ...]:
        if len(found.met(user_id)) > lister.most_met:
            return ()  # nothing is left to show beside what they take
        return tuple(lister.choice(user_id, place, context, population) for place, context in contexts.items())


def sager(options: ArmOptions) -> Streamed:
    """The product as it ships."""
    return Streamed(options)
