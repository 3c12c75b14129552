"""SAGER's arms: the worker's four stages on a split, by the same operators, with parts left out one at a time.

Training imports everybody's visits, then replays the test users' last `tau` visits as choices: each is ranked among
nine items that the user never met, and the contrast evolves the skill (paper 3.1, warm-up). Then skills are frozen.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks.quality import world as worlds
from benchmarks.quality.arms.arm import Progress, Ranked
from benchmarks.quality.arms.options import ArmOptions
from benchmarks.quality.case import Case, Split
from operators.contrast import contrast_id, reverse_rank
from operators.evolve import Reasoner, RulesReasoner, validate
from operators.merge import fit_seed, merge, resolve, start
from operators.rank import facet_weights, rank
from operators.rank.deterministic import DEFAULT_WEIGHTS, RankWeights
from operators.retrieve import Retrieved, retrieve
from operators.statinit import statinit
from schemas import Attribute, Contrast, Facet, ItemFacts, PolicySkill, derived_id
from streams.importers.dataset import BEGINNING, Visit


@dataclass(frozen=True)
class Parts:
    """Which parts of the pipeline an arm has.

    Attributes:
        name: the arm.
        retrieve: the community's facets, companions and popularity count.
        skill: the skill counts.
        statinit: skills start from the user's statistics, else from nothing.
        evolve: skills learn from the warm-up's choices.
        propagate: choices of others reach the user; without, only the user's own memory is read.
    """

    name: str
    retrieve: bool = True
    skill: bool = True
    statinit: bool = True
    evolve: bool = True
    propagate: bool = True


@dataclass(frozen=True)
class Round:
    """What the warm-up showed a user, and what they took: enough to play it again elsewhere.

    Attributes:
        at: when the choice was made.
        order: the items' ids as they were ranked, best first.
        chosen: which of them was taken.
        facets: what the community said, which discoveries go by.
    """

    user_id: str
    ranking_id: str
    at: datetime
    order: tuple[str, ...]
    chosen: str
    facets: tuple[Facet, ...]


class Sager:
    """One arm.

    Attributes:
        rounds: the warm-up, in the order in which it went.
        skills: every test user's skill, by user.

    Args:
        parts: what it has.
        options: seed and `tau`.
        weights: what counts how much in the ranking.
    """

    def __init__(self, parts: Parts, options: ArmOptions, weights: RankWeights = DEFAULT_WEIGHTS) -> None:
        self._parts = parts
        self._options = options
        self._weights = weights
        self.rounds: list[Round] = []
        self.skills: dict[str, PolicySkill] = {}
        self._contexts: dict[str, Retrieved] = {}

    @property
    def name(self) -> str:
        """The arm's name."""
        return self._parts.name

    async def train(self, split: Split, progress: Progress) -> None:
        """Import everybody's visits, and warm the test users' skills up."""
        tested = {case.user_id for case in split.cases}
        rounds = self._options.tau if self._parts.skill and self._parts.evolve else 0

        def held_back(user_id: str) -> int:
            return min(rounds, len(split.training[user_id]) - 1) if user_id in tested else 0

        self._split = split
        self._world = worlds.build(split, progress, held_back=held_back)
        self._pool = sorted({visit.item_id for visits in split.training.values() for visit in visits})
        for case in split.cases:
            visits = split.training[case.user_id]
            self.skills[case.user_id] = self._seed(case.user_id)
            for place in range(len(visits) - held_back(case.user_id), len(visits)):
                await self._warm_up(case.user_id, place, visits)
            self._contexts[case.user_id] = self._retrieve(case.user_id, visits[-1].at if visits else BEGINNING)
            # The event loop has others to serve, and a progress bar to draw.
            await asyncio.sleep(0)

    async def rank(self, case: Case) -> Ranked:
        """Rank with the frozen skill."""
        items = [self._split.facts[item_id] for item_id in case.candidates]
        return Ranked(self._order(case.user_id, items, case.instruction, case.seed))

    def _seed(self, user_id: str) -> PolicySkill:
        profile = self._world.profiles.get(user_id)
        lines: Sequence[Attribute] = statinit(profile) if self._parts.statinit else ()
        first = Contrast.model_construct(event_id=derived_id("seed", user_id), occurred_at=BEGINNING)
        return start(user_id, self._split.domain, fit_seed(lines), first)

    async def _warm_up(self, user_id: str, place: int, visits: Sequence[Visit]) -> None:
        """One choice: ranked with the skill as it is, then learned from."""
        visit = visits[place]
        ranking_id = derived_id("warm-up", user_id, str(place))
        # By user and visit, so that no order of users changes what anybody is shown.
        chance = random.Random(f"{self._options.seed}/{ranking_id}")
        met = {each.item_id for each in visits}
        shown = [self._split.facts[visit.item_id]]
        while len(shown) < 10:
            other = chance.choice(self._pool)
            if other not in met:
                met.add(other)
                shown.append(self._split.facts[other])
        chance.shuffle(shown)
        self._contexts[user_id] = self._retrieve(user_id, visit.at)
        by_id = {item.item_id: item for item in shown}
        order = self._order(user_id, shown, "", ranking_id)
        facets = self._contexts[user_id].facets
        self.rounds.append(Round(user_id, ranking_id, visit.at, order, visit.item_id, facets))
        contrast = Contrast(
            event_id=contrast_id(user_id, ranking_id),
            occurred_at=visit.at,
            user_id=user_id,
            domain=self._split.domain,
            ranking_id=ranking_id,
            chosen=by_id[visit.item_id],
            chosen_rank=order.index(visit.item_id) + 1,
            unchosen=reverse_rank([by_id[item_id] for item_id in order], visit.item_id),
            facets=facets,
        )
        skill = self.skills[user_id]
        proposal = await self._reasoner().reason(contrast, skill)
        diff = resolve(skill, validate(proposal, skill, contrast), contrast)
        self.skills[user_id] = merge(skill, diff)
        self._world.take(user_id, visit, self._split, contrast.event_id)

    def _reasoner(self) -> Reasoner:
        return RulesReasoner()

    def _retrieve(self, user_id: str, now: datetime) -> Retrieved:
        if not self._parts.retrieve:
            return Retrieved()
        near = self._world.near(user_id) if self._parts.propagate else None
        memory = self._world.memories.get(user_id)
        return retrieve(
            memory, near, self._split.domain, now + timedelta(seconds=1), popularity=self._popularity() or None
        )

    def _popularity(self) -> dict[str, int]:
        if not self._parts.retrieve or not self._parts.propagate or self._world.population is None:
            return {}
        return self._world.population.items

    def _order(self, user_id: str, items: Sequence[ItemFacts], instruction: str, seed: str) -> tuple[str, ...]:
        context = self._contexts[user_id]
        lines = self.skills[user_id].attributes if self._parts.skill else ()
        ranked = rank(
            items,
            lines,
            instruction,
            facet_weights(context.facets),
            seed,
            companions=context.companions,
            popularity=self._popularity(),
            weights=self._weights,
        )
        return tuple(item.item_id for item, _ in ranked)


def prior(options: ArmOptions) -> Sager:
    """StatInit alone: no community, no evolution."""
    return Sager(Parts("prior", retrieve=False, evolve=False), options)


def no_skill(options: ArmOptions) -> Sager:
    """Retrieve only (the paper's MemRec)."""
    return Sager(Parts("no-skill", skill=False), options)


def with_statinit(options: ArmOptions) -> Sager:
    """Retrieve and the prior, without evolution."""
    return Sager(Parts("statinit", evolve=False), options)


def sager_rules(options: ArmOptions) -> Sager:
    """All of it, by rules."""
    return Sager(Parts("sager-rules"), options)
