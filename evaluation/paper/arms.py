"""The arms of the paper's experiments: one whole, and the same whole with one part removed or changed.

All arms of a run share the lists, the community, the memory and its facets, and the visits that StatInit counts. The
rounds of warm-up replay the last training visits, oldest first: an arm with fewer rounds plays the first ones of them.
With a model, an unusable answer teaches nothing, and such a ranking keeps the order of presentation, which is random.
Without one, rules reason, extract and rank; they read the lines of the slim skill, as the model does.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from evaluation.exceptions import QualityError
from evaluation.hosts import HOSTS, VanillaHost
from evaluation.leave_one_out import FrozenArm, Result, WarmUp, run, warm_up
from evaluation.paper.prompts import LlmMemory, PointwiseRanker, replaced
from evaluation.plans import Choice, Plan
from evaluation.replies import CachedClient, Cost, Replies, client_of
from evaluation.simulation import Progress, Turn, no_progress, side_by_side, simulate
from evaluation.skill_arms import RankBy, RankedArm, Rule, SkillArm
from evaluation.split import Split
from evaluation.stream import choose
from operators.attributes import RankedLine
from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import Proposal, ReasonerUnavailable, RulesReasoner
from operators.graph.facets import Retrieved
from operators.options import EvolveMode
from operators.rank.listwise import ListwiseRanker, RankTask
from operators.slim.llm import LlmExtract
from operators.slim.statements import typed_line
from operators.steps.evolve import EvolveStep
from schemas import Contrast, PolicySkill
from schemas.skills import SlimLine
from streams.importers.dataset import Visit
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import Settings

# Figures 6 and 7; section 3.3 warms hosts up for one round.
TAUS, SLIM_TOKENS, HOST_TAU = (0, 1, 2, 3), (10, 30, 80, 150, 200), 1
FULL, WITHOUT_SKILL = "full", "without-skill"


@dataclass(frozen=True)
class Condition:
    """The whole, with at most one part changed.

    Without `skill` nothing is injected or evolved. `slim_tokens` None ranks by all lines, as the worker does without a
    model. With a `host`, its memory takes the place of the community.
    """

    skill: bool = True
    statinit: bool = True
    listwise: bool = True
    replaces: bool = False
    tau: int = 2
    slim_tokens: int | None = 30
    host: str = ""

    def runs(self, *, with_model: bool) -> bool:
        """True if the condition differs from the whole with a model, or without."""
        return self.slim_tokens is not None if with_model else self.listwise and not self.replaces


# By name; equal conditions are run once: the paper's own tables have the same figures in these rows.
ARMS: Mapping[str, Condition] = {
    FULL: Condition(),
    WITHOUT_SKILL: Condition(skill=False),
    "without-statinit": Condition(statinit=False),
    "without-listwise": Condition(listwise=False),
    "without-cot": Condition(tau=0),
    "full-replacement": Condition(replaces=True),
    "statinit-only": Condition(tau=0),
    **{f"tau-{tau}": Condition(tau=tau) for tau in TAUS},
    **{f"slim-{tokens}": Condition(slim_tokens=tokens) for tokens in SLIM_TOKENS},
    "all-lines": Condition(slim_tokens=None),
    **{host: Condition(skill=False, tau=HOST_TAU, host=host) for host in HOSTS},
    **{f"{host}+skill": Condition(tau=HOST_TAU, host=host) for host in HOSTS},
}


@dataclass(frozen=True)
class Models:
    """The models of one arm, with an account of their own."""

    client: CachedClient
    orders: int

    async def order(self, task: RankTask, *, listwise: bool) -> tuple[str, ...] | None:
        """Rank by the model; None if its answer is unusable."""
        try:
            if listwise:
                return (await ListwiseRanker(self.client, self.orders, OUTPUT_GATE).rank(task)).order
            return await PointwiseRanker(self.client, self.orders).rank(task)
        except ReasonerUnavailable:
            return None

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Reason as the worker, but an unusable answer proposes nothing."""
        try:
            return await LlmReasoner(self.client, OUTPUT_GATE).reason(contrast, skill)
        except ReasonerUnavailable:
            return Proposal()


class PaperSkills(SkillArm):
    """Skills in `paper` mode, whose slim text is injected into the ranking."""

    def __init__(self, name: str, condition: Condition, plan: Plan, models: Models | None) -> None:
        self._condition, self._models = condition, models
        step = EvolveStep(
            mode=EvolveMode.PAPER, slim_tokens=condition.slim_tokens or 30, privacy=PRIVACY, gate=OUTPUT_GATE
        )
        rule = Rule(
            name,
            "",
            ranks=condition.skill,
            learns=condition.skill,
            from_history=condition.statinit,
            evolve=step,
            reason=lambda: RulesReasoner().reason if models is None else models.reason,
        )
        super().__init__(rule, plan, weighs=False, slim_tokens=condition.slim_tokens or 30)
        self._hosts: dict[str, VanillaHost] = {}
        if condition.host:
            taken = {user_id: self._items(visits) for user_id, visits in plan.past.items()}
            self._hosts = {user_id: HOSTS[condition.host](items) for user_id, items in taken.items()}

    async def rank(self, user_id: str, choice: Choice, instruction: str = "") -> RankedArm:
        """Rank with the facets or a host's memory, and the slim skill."""
        items = [self.plan.facts[item_id] for item_id in choice.candidates]
        text, lines = await self.slim(user_id, instruction)
        context, popularity, lately = choice.context, choice.popularity, tuple[str, ...]()
        if user_id in self._hosts:
            facets, titles = self._hosts[user_id].memory(self._items(self._before(user_id, choice)))
            context, popularity, lately = Retrieved(tuple(facets)), {}, tuple(titles)
        companions = {name: context.companions[name] for name in choice.candidates if name in context.companions}
        if self._models is None:
            spoken = self._rank.features_of(items, lines, context, popularity)
            return RankedArm({RankBy.MIX: self._rank.order(items, spoken, instruction, choice.request_id).order})
        task = RankTask(items, instruction, context.facets, companions, text, lately, seed=choice.request_id)
        order = await self._models.order(task, listwise=self._condition.listwise)
        return RankedArm({RankBy.MIX: order or choice.candidates})

    async def learn(self, turn: Turn[Choice], answer: RankedArm, reply: Visit) -> None:
        """Evolve the skill, and let the host observe the choice."""
        await super().learn(turn, answer, reply)
        if turn.user_id in self._hosts:
            left = [self.plan.facts[name] for name in answer.order if name != reply.item_id]
            self._hosts[turn.user_id].observe(self.plan.facts[reply.item_id], left)

    async def _evolve(self, user_id: str, contrast: Contrast, popularity: Mapping[str, int]) -> None:
        if self._models is None or not self._condition.replaces:
            await super()._evolve(user_id, contrast, popularity)
            return
        player = self._players[user_id]
        with suppress(ReasonerUnavailable):
            player.skill = await replaced(self._models.client, contrast, player.skill)

    async def slim(self, user_id: str, instruction: str = "") -> tuple[str, Sequence[RankedLine]]:
        """Extract the slim text and its lines: by LLM_Ext (C.2), or by rules."""
        skill = self._players[user_id].skill
        if not self._condition.skill:
            return "", ()
        if self._condition.slim_tokens is None:
            return "", self._rank.lines(skill)
        shares, tokens = self.plan.populations[user_id].shares, self._condition.slim_tokens
        short = self._rank.extract(skill, instruction, shares)
        if self._models is not None:
            with suppress(ReasonerUnavailable):  # as in the worker, rules extract where the model cannot
                model = LlmExtract(self._models.client, OUTPUT_GATE)
                short = (await model.extract(skill, instruction, tokens, shares))[0]
        injected: set[SlimLine] = set(short.lines)
        return short.text, [line for line in skill.attributes if typed_line(line) in injected]

    def _before(self, user_id: str, choice: Choice) -> tuple[Visit, ...]:
        """The visits before a round's choice, or all of them."""
        past, rounds = self.plan.past[user_id], self.plan.choices[user_id]
        return past[: len(past) - len(rounds) + rounds.index(choice)] if choice in rounds else past

    def _items(self, visits: Sequence[Visit]) -> list[Any]:
        return [self.plan.facts[visit.item_id] for visit in visits]


class Rounds:
    """The shared part of all arms: the lists, and the contexts with the memory's facets."""

    def __init__(self, seed: int, models: Models | None, concurrency: int) -> None:
        self._seed, self._models, self._concurrency = seed, models, concurrency
        self._made: WarmUp | None = None

    async def made(self, split: Split, progress: Progress) -> WarmUp:
        """The rounds of a split, made once."""
        if self._made is None:
            found = warm_up(split, max(TAUS), self._seed, progress, replays=True)
            self._made = found if self._models is None else await self._remembered(found, self._models, progress)
        return self._made

    async def _remembered(self, made: WarmUp, models: Models, progress: Progress) -> WarmUp:
        """Let LLM_Mem write the facets; the template's facets stay where its answer is unusable."""
        plan, memory = made.plan, LlmMemory(models.client)
        choices, contexts = dict(plan.choices), dict(made.contexts)
        done = 0

        async def remember(user_id: str) -> None:
            nonlocal done
            rounds, last = plan.choices[user_id], len(plan.past[user_id])
            states = made.community.states(user_id, plan.populations[user_id], last - len(rounds), last)
            before = [*(choice.context for choice in rounds), contexts[user_id]]
            after = []
            for (state, now), context in zip(states, before, strict=True):
                try:
                    facets = await memory.facets(state, plan.domain, now)
                except ReasonerUnavailable:
                    facets = context.facets
                after.append(replace(context, facets=facets))
            choices[user_id] = tuple(replace(o, context=c) for o, c in zip(rounds, after[:-1], strict=True))
            contexts[user_id] = after[-1]
            done += 1
            progress("LLM_Mem", done, len(choices))

        await side_by_side(list(plan.choices), remember, self._concurrency)
        return replace(made, plan=replace(plan, choices=choices), contexts=contexts)


class PaperArm(FrozenArm):
    """One arm of `sager eval paper`, for `leave_one_out.run`."""

    skills: PaperSkills

    def __init__(self, name: str, rounds: Rounds, models: Models | None, concurrency: int) -> None:
        self.name, self._condition = name, ARMS[name]
        self._rounds, self._models, self._concurrency = rounds, models, concurrency

    @property
    def spent(self) -> Cost:
        """The cost of this arm's calls, without the memory's."""
        return Cost() if self._models is None else self._models.client.spent

    async def aclose(self) -> None:
        """Close the connections."""
        if self._models is not None:
            await self._models.client.aclose()

    async def train(self, split: Split, progress: Progress) -> None:
        """Play the rounds; skills are frozen then."""
        made = await self._rounds.made(split, progress)
        self._contexts, plan = made.contexts, made.plan
        self.skills = skills = PaperSkills(self.name, self._condition, plan, self._models)
        # Without a skill or a host that observes, no round changes anything.
        rounds = self._condition.tau if self._condition.skill or self._condition.host else 0
        done = 0

        async def play(user_id: str) -> None:
            nonlocal done
            turns = [Turn(user_id, choice) for choice in plan.choices[user_id][:rounds]]
            await simulate(turns, skills, choose)
            done += 1
            progress("warm-up", done, len(plan.choices))

        await side_by_side(list(plan.choices), play, self._concurrency)


@dataclass(frozen=True)
class Measured:
    """The results of a data set's arms, and what was not run; `model` is empty for the rules."""

    data: str
    model: str
    results: Mapping[str, Result]
    left_out: tuple[str, ...]
    memory: Cost
    facets_by_model: bool


def has_endpoint(settings: Settings) -> bool:
    """True if the settings name a model's endpoint."""
    return bool(settings.llm_base_url or settings.llm_api_key)


async def evaluate(
    split: Split,
    answers: Mapping[str, str],
    names: Sequence[str],
    settings: Settings,
    replies: Replies | None,
    seed: int = 0,
    progress: Progress = no_progress,
    *,
    facets_by_model: bool = True,
) -> Measured:
    """Run the named arms on one data set, each different condition once.

    Without `replies` the rules stand in for the model. Without `facets_by_model` the template writes the facets, as in
    the worker: LLM_Mem is the longest of the calls.
    """
    concurrency = min(settings.in_flight, 16)

    def models() -> Models | None:
        return None if replies is None else Models(client_of(settings, replies), settings.rank_orders)

    wanted = [name for name in names if ARMS[name].runs(with_model=replies is not None)]
    if not wanted:
        raise QualityError(f"{', '.join(names)} cannot run {'with' if replies else 'without'} a model")
    memory = models() if facets_by_model else None
    rounds, found, of_condition = Rounds(seed, memory, concurrency), dict[str, Result](), dict[Condition, Result]()
    try:
        for name in wanted:
            known = of_condition.get(ARMS[name])
            if known is None:
                arm = PaperArm(name, rounds, models(), concurrency)
                known = of_condition[ARMS[name]] = await run(arm, split, answers, seed, progress, concurrency)
            found[name] = replace(known, arm=name)
    finally:
        if memory is not None:
            await memory.client.aclose()
    left_out = tuple(name for name in names if name not in found)
    spent = Cost() if memory is None else memory.client.spent
    return Measured(
        split.data, "" if replies is None else settings.llm_model, found, left_out, spent, memory is not None
    )
