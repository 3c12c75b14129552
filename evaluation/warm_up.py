"""SAGER's arms of the paper's protocol, by the worker's operators.

They replay the test users' last `tau` training visits as choices (warm-up), which evolve the skill; then skills are
frozen. No user's warm-up changes what another one is shown.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from evaluation.community import Community, World, event_at_beginning, shared_world, taken_by
from evaluation.dataset import Sequences, works
from evaluation.plans import Choice, ListBuilder, ListKind, Plan
from evaluation.simulation import Progress, Turn, side_by_side, simulate
from evaluation.skill_arms import SAGER, STREAM_RULES, Rule, SkillArm
from evaluation.split import Case, Split
from evaluation.stream import choose, interleaved
from operators.graph import Retrieved
from operators.steps import SkillStart
from operators.steps import rank as ranking
from schemas import GlobalSkill, derived_id
from streams.importers.dataset import BEGINNING, Visit
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

if TYPE_CHECKING:
    from evaluation.replies import Replies


@dataclass(frozen=True, slots=True)
class ArmOptions:
    """The command line's options for arms.

    `tau` is the number of warm-up rounds in which a skill evolves before it is frozen (paper 3.1); `concurrency` the
    users who warm up at once if an arm waits for an endpoint; without `replies` there is no store and no budget.
    """

    seed: int = 0
    tau: int = 2
    slim_tokens: int = 30
    concurrency: int = 16
    replies: "Replies | None" = None


class FrozenArm:
    """An arm whose skills are frozen after training."""

    name: str
    skills: SkillArm
    _contexts: dict[str, Retrieved]

    async def rank(self, case: Case) -> tuple[str, ...]:
        """Rank with the frozen skill and weights."""
        context, popularity = self._contexts[case.user_id], self._popularity_of(case.user_id)
        choice = Choice(case.seed, Visit("", BEGINNING), case.candidates, context=context, popularity=popularity)
        return (await self.skills.rank(case.user_id, choice, case.instruction)).order

    def _popularity_of(self, user_id: str) -> Mapping[str, int]:
        return taken_by(self.skills.plan.populations[user_id])


class WarmedUp(FrozenArm):
    """Skills that count all training, then replay the last visits."""

    concurrency = 1

    def __init__(self, rule: Rule, options: ArmOptions) -> None:
        self.name = rule.name
        self._rule = rule
        self._options = options

    async def train(self, split: Split, progress: Progress) -> None:
        """Count everybody's visits, and warm the test users' skills up."""
        world = shared_world(split, progress)
        plan = self._warm_up(split, world, progress)
        self.skills = self._make(plan, world)
        done = 0

        async def warm_up(user_id: str) -> None:
            nonlocal done
            await simulate([Turn(user_id, choice) for choice in plan.choices[user_id]], self.skills, choose)
            done += 1
            progress("warm-up", done, len(plan.choices))

        await side_by_side(plan.choices, warm_up, self.concurrency)

    def _popularity_of(self, user_id: str) -> Mapping[str, int]:
        return self._popularity

    def _make(self, plan: Plan, world: World) -> SkillArm:
        return SkillArm(self._rule, plan, weighs=False, profiles=world.profiles)

    def _warm_up(self, split: Split, world: World, progress: Progress) -> Plan:
        """The test users' last training visits as choices."""
        assert world.population is not None  # noqa: S101 - a built world has one
        # Skills start from the users' own counts or from nothing, never from the domain's template.
        population = world.population.model_copy(update={"attributes": ()})
        rule, users = self._rule, [case.user_id for case in split.cases]
        self._popularity = taken_by(population) if rule.retrieves and rule.propagates else {}
        self._contexts: dict[str, Retrieved] = {}
        pool = sorted({visit.item_id for visits in split.training.values() for visit in visits})
        choices = {}
        for done, user_id in enumerate(users, 1):
            self._contexts[user_id] = self._context(user_id, split, world)
            choices[user_id] = tuple(self._choices(user_id, split.training[user_id], pool))
            progress("lists", done, len(users))
        return Plan(
            data=split.data,
            domain=split.domain,
            lists=ListKind.UNIFORM,
            history=0,
            items=split.items,
            facts=split.facts,
            past={user_id: split.training[user_id] for user_id in users},
            choices=choices,
            populations=dict.fromkeys(users, population),
        )

    def _choices(self, user_id: str, visits: tuple[Visit, ...], pool: list[str]) -> Iterator[Choice]:
        rounds = self._options.tau if self._rule.learns else 0
        for place in range(max(0, len(visits) - rounds), len(visits)):
            request_id = derived_id("warm-up", user_id, str(place))
            # By user and visit, so that no order of users changes what a user is shown.
            chance = random.Random(f"{self._options.seed}/{request_id}")
            met = {visit.item_id for visit in visits}
            shown = [visits[place].item_id]
            most = min(10, 1 + len(pool) - len(met))
            while len(shown) < most:
                other = chance.choice(pool)
                if other not in met:
                    met.add(other)
                    shown.append(other)
            chance.shuffle(shown)
            context = self._contexts[user_id]
            yield Choice(request_id, visits[place], tuple(shown), context=context, popularity=self._popularity)

    def _context(self, user_id: str, split: Split, world: World) -> Retrieved:
        if not self._rule.retrieves:
            return Retrieved()
        propagates, known = self._rule.propagates, world.contexts
        if (user_id, propagates) not in known:
            near = world.near(user_id) if propagates else None
            unread = SkillStart(privacy=PRIVACY).skill(user_id, split.domain, event_at_beginning(user_id), None)
            state = ranking.RankState(unread, world.memories.get(user_id), near, popularity=self._popularity)
            visits = split.training[user_id]
            now = (visits[-1].at if visits else BEGINNING) + timedelta(seconds=1)
            rank = ranking.RankStep(privacy=PRIVACY, gate=OUTPUT_GATE)
            known[user_id, propagates] = rank.retrieve(state, split.domain, now)
        return known[user_id, propagates]


class StreamedArm(FrozenArm):
    """The product as it ships: the stream up to the case.

    All but a test user's last `tau` training visits are history, and those come as choices from lists drawn like those
    of the cases: the worth of popularity depends on how lists come about, and the weights learn it from them. A visit
    counts once, in the history or as a choice. Then skills and weights are frozen.
    """

    name = SAGER

    def __init__(self, options: ArmOptions) -> None:
        self._options = options

    async def train(self, split: Split, progress: Progress) -> None:
        """Play the test users' warm-up."""
        world = shared_world(split, progress)
        found = Sequences(split.data, split.domain, split.items, works(split.items), split.training)
        community = Community(found, split.facts, world)
        lister = ListBuilder(found, ListKind(split.candidates.value), self._options.seed, "warm-up")
        past, choices, populations = {}, dict[str, tuple[Choice, ...]](), dict[str, GlobalSkill]()
        self._contexts: dict[str, Retrieved] = {}
        for done, case in enumerate(split.cases, 1):
            user_id, visits = case.user_id, split.training[case.user_id]
            history = max(0, len(visits) - self._options.tau)
            population = populations[user_id] = community.population(user_id)
            contexts = dict(enumerate(community.contexts(user_id, population, history, len(visits)), history))
            self._contexts[user_id] = contexts.pop(len(visits))
            past[user_id] = visits[:history]
            # A user who has met too much has nothing left to be shown beside their items.
            is_able = len(found.met(user_id)) <= lister.most_met
            made = (lister.choice(user_id, place, context, population) for place, context in contexts.items())
            choices[user_id] = tuple(made) if is_able else ()
            progress("lists", done, len(split.cases))
        plan = Plan(split.data, split.domain, lister.kind, 0, split.items, split.facts, past, choices, populations)
        self.skills = SkillArm(STREAM_RULES[SAGER], plan)
        turns = interleaved(choices, self._options.seed)
        await simulate(turns, self.skills, choose, progress=progress, stage="warm-up")
