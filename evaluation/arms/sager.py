"""SAGER's arms: the worker's four stages on a split, by the same operators, with parts left out one at a time.

Training imports everybody's visits, from which StatInit starts; then the test users' last `tau` training visits are
replayed as choices: each is ranked among nine items that the user never met, and the contrast evolves the skill (paper
3.1, warm-up). Then skills are frozen. No user's warm-up changes what another one is shown.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from evaluation import world as worlds
from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.options import ArmOptions
from evaluation.case import Case, Split
from evaluation.concurrent import each
from evaluation.stream.arms import without_counts
from operators.contrast import contrast_id, reverse_rank
from operators.evidence import fixed
from operators.evolve import CountsReasoner, Reasoner, RulesReasoner, RulesReplacer
from operators.options import EvolveMode
from operators.privacy import OFF
from operators.rank import RankSkill
from operators.rank.weights import DEFAULT_WEIGHTS, RankWeights
from operators.retrieve import Neighbours, Retrieved
from operators.steps import Evolve, Reason, Start, State, learn
from operators.steps import rank as ranking
from schemas import Attribute, Contrast, Facet, ItemFacts, PolicySkill, SlimSkill, derived_id
from streams.importers.dataset import BEGINNING, Visit
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING


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
        replace: each choice writes the skill anew, instead of a diff (paper, Table 5).
        slim: only the lines that the slim skill says rank, instead of all that are sure enough.
        rules: the former reasoner, one tier a choice, instead of counts.
    """

    name: str
    retrieve: bool = True
    skill: bool = True
    statinit: bool = True
    evolve: bool = True
    propagate: bool = True
    replace: bool = False
    slim: bool = False
    rules: bool = False


@dataclass(frozen=True)
class Situation:
    """What there is to rank by, apart from the candidates.

    Attributes:
        skill: the user's, as it is.
        context: what the community says.
        popularity: how many users took an item, as the community tells.
    """

    user_id: str
    skill: PolicySkill
    context: Retrieved
    popularity: dict[str, int]


@dataclass(frozen=True)
class Round:
    """What the warm-up showed a user, and what they took: enough to play it again elsewhere.

    Attributes:
        at: when the choice was made.
        order: the items' ids as they were ranked, best first.
        chosen: which of them was taken.
        facets: what the community said; discoveries go by it.
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
        weights: what counts how much in the ranking.

    Args:
        parts: what it has.
        options: seed and `tau`.
        weights: what counts how much in the ranking.
    """

    def __init__(self, parts: Parts, options: ArmOptions, weights: RankWeights = DEFAULT_WEIGHTS) -> None:
        self._parts = parts
        self._options = options
        self.weights = weights
        self.rounds: list[Round] = []
        self.skills: dict[str, PolicySkill] = {}
        self._contexts: dict[str, Retrieved] = {}
        # Items are compared as the data set has them, private or not.
        self._start = Start(privacy=OFF, from_history=parts.statinit)
        self._evolve = (
            Evolve(mode=EvolveMode.INCREMENTAL, privacy=PRIVACY, vouching=VOUCHING)
            if parts.rules
            else Evolve(privacy=PRIVACY, vouching=VOUCHING)
        )

    concurrency = 1
    """How many users are warmed up at once; more than one helps only where somebody is waited for."""

    @property
    def name(self) -> str:
        """The arm's name."""
        return self._parts.name

    async def train(self, split: Split, progress: Progress) -> None:
        """Import everybody's visits, and warm the test users' skills up."""
        self._split = split
        self._world = worlds.shared(split, progress)
        self._usual = fixed(self._world.population.usual) if self._world.population else {}
        self._pool = sorted({visit.item_id for visits in split.training.values() for visit in visits})
        ready = 0

        async def prepare(case: Case) -> None:
            nonlocal ready
            await self._prepare(case.user_id)
            ready += 1
            progress(ready, len(split.cases), "warm-up")
            # The event loop has others to serve, and a progress bar to draw.
            await asyncio.sleep(0)

        await each(split.cases, prepare, self.concurrency)
        places = {case.user_id: place for place, case in enumerate(split.cases)}
        self.rounds.sort(key=lambda shown: places[shown.user_id])

    async def rank(self, case: Case) -> Ranked:
        """Rank with the frozen skill."""
        items = [self._split.facts[item_id] for item_id in case.candidates]
        return Ranked(await self._order(self.now(case.user_id), items, case.instruction, case.seed))

    def now(self, user_id: str) -> Situation:
        """What a test user's case is ranked by."""
        return Situation(user_id, self.skills[user_id], self._contexts[user_id], self._popularity())

    async def _prepare(self, user_id: str) -> None:
        """Read what the community says, and evolve one user's skill."""
        visits = self._split.training[user_id]
        self.skills[user_id] = self._seed(user_id)
        self._contexts[user_id] = self._retrieve(user_id, visits[-1].at if visits else BEGINNING)
        for place in self._replayed(visits):
            await self._warm_up(user_id, place, visits)

    def _replayed(self, visits: Sequence[Visit]) -> range:
        """Which visits come again as choices: the last ones."""
        rounds = self._options.tau if self._evolves else 0
        return range(max(0, len(visits) - rounds), len(visits))

    @property
    def _evolves(self) -> bool:
        return self._parts.skill and self._parts.evolve

    def _seed(self, user_id: str) -> PolicySkill:
        # Of the first event only these two are read.
        first = Contrast.model_construct(event_id=derived_id("seed", user_id), occurred_at=BEGINNING)  # type: ignore[call-arg]
        profile = self._world.profiles.get(user_id)
        skill = self._start.skill(user_id, self._split.domain, first, profile, usual=self._usual)
        return without_counts(skill) if self._parts.rules else skill

    async def _warm_up(self, user_id: str, place: int, visits: Sequence[Visit]) -> None:
        """One choice: ranked with the skill as it is, then learned from."""
        visit = visits[place]
        ranking_id = derived_id("warm-up", user_id, str(place))
        # By user and visit, so that no order of users changes what anybody is shown.
        chance = random.Random(f"{self._options.seed}/{ranking_id}")
        met = {other.item_id for other in visits}
        shown = [self._split.facts[visit.item_id]]
        most = min(10, 1 + len(self._pool) - len(met))
        while len(shown) < most:
            other = chance.choice(self._pool)
            if other not in met:
                met.add(other)
                shown.append(self._split.facts[other])
        chance.shuffle(shown)
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in shown}
        now = self.now(user_id)
        order = await self._order(now, shown, "", ranking_id)
        self.rounds.append(Round(user_id, ranking_id, visit.at, order, visit.item_id, now.context.facets))
        contrast = Contrast(
            event_id=contrast_id(user_id, ranking_id),
            occurred_at=visit.at,
            user_id=user_id,
            domain=self._split.domain,
            ranking_id=ranking_id,
            chosen=by_id[visit.item_id],
            chosen_rank=order.index(visit.item_id) + 1,
            unchosen=reverse_rank([by_id[item_id] for item_id in order], visit.item_id),
            facets=now.context.facets,
            by_sager=True,
        )
        reason: Reason = RulesReplacer().replace if self._parts.replace else self._reasoner().reason
        state = State(now.skill, usual=self._usual, popularity=now.popularity)
        self.skills[user_id] = (await learn(self._evolve, reason, state, contrast)).skill

    def _reasoner(self) -> Reasoner:
        return RulesReasoner() if self._parts.rules else CountsReasoner()

    def _retrieve(self, user_id: str, now: datetime) -> Retrieved:
        if not self._parts.retrieve:
            return Retrieved()
        # It takes longer than all else, and most arms of a run read the same.
        name, known = (user_id, self._parts.propagate), self._world.contexts
        if name not in known:
            near = self._world.near(user_id) if self._parts.propagate else None
            memory = self._world.memories.get(user_id)
            state = ranking.State(self.skills[user_id], memory, near, popularity=self._popularity())
            found = self._rank.retrieve(state, self._split.domain, now + timedelta(seconds=1))
            # Without the neighbours, which hold the decoded graph.
            known[name] = replace(found, neighbours=Neighbours())
        return known[name]

    def _popularity(self) -> dict[str, int]:
        if not self._parts.retrieve or not self._parts.propagate or self._world.population is None:
            return {}
        return self._world.population.items  # type: ignore[return-value]  # an ItemId is a string

    async def _order(self, now: Situation, items: Sequence[ItemFacts], instruction: str, seed: str) -> tuple[str, ...]:
        """The items' ids, best first."""
        lines = self._lines(now.skill, instruction)
        return self._rank.order(items, lines, instruction, now.context, seed, now.popularity)

    def _lines(self, skill: PolicySkill, instruction: str) -> Sequence[Attribute]:
        """The lines of a skill that rank."""
        return self._rank.lines(skill, instruction, self._shares)

    def _slim(self, skill: PolicySkill, instruction: str) -> SlimSkill:
        """The slim skill for a task, as the worker extracts it."""
        return self._rank.extract(skill, instruction, self._shares).record

    @property
    def _shares(self) -> dict[str, float]:
        return self._world.population.shares if self._world.population else {}

    @property
    def _rank(self) -> ranking.Rank:
        """How it ranks, by the weights as they are now."""
        parts = self._parts
        by = RankSkill.NONE if not parts.skill else RankSkill.SLIM if parts.slim else RankSkill.FULL
        return ranking.Rank(
            by,
            self._options.slim_tokens,
            retrieves=parts.retrieve,
            weights=self.weights,
            privacy=PRIVACY,
            vouching=VOUCHING,
        )


def prior(options: ArmOptions) -> Sager:
    """StatInit alone: no community, no evolution."""
    return Sager(Parts("prior", retrieve=False, evolve=False), options)


def no_skill(options: ArmOptions) -> Sager:
    """Retrieve only (the paper's MemRec)."""
    return Sager(Parts("no-skill", skill=False), options)


def with_statinit(options: ArmOptions) -> Sager:
    """Retrieve and the prior, without evolution."""
    return Sager(Parts("statinit", evolve=False), options)


def sager_counts(options: ArmOptions) -> Sager:
    """All of it, by counts."""
    return Sager(Parts("sager-counts"), options)


def sager_rules(options: ArmOptions) -> Sager:
    """All of it, by the former reasoner."""
    return Sager(Parts("sager-rules", rules=True), options)
