"""Plays a plan's choices with a model: one chain of skills per user and arm, and rankings beside it.

A user is shown the list as the product ranks it without a model, so that no arm's rankings by a model change what it
learns from. Each list is ranked by the model before the choice is learned from; the sweeps rank the same lists with
the same skills in other forms, with other slim skills, with skills frozen earlier, and by other hosts.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evaluation.hosts import HOSTS, HostRequest
from evaluation.model.arms import ARMS, BOTH, COUNTS, MODEL, NO_SKILL, PRIOR, ModelArm
from evaluation.model.lines import LineReasoner
from evaluation.replies import Desk
from evaluation.stream.arms import without_counts
from evaluation.stream.plan import Choice, Plan
from operators.contrast import contrast_id, reverse_rank
from operators.evidence import fixed
from operators.evolve import CountsReasoner, GatedReasoner, Proposal, ReasonerUnavailable, Replacement
from operators.evolve.llm import LlmReasoner, LlmReplacer
from operators.privacy import OFF
from operators.rank import RankSkill, Task
from operators.rank.llm import Form, LlmRanker
from operators.rank.weights import DEFAULT_WEIGHTS
from operators.steps import Start, State, learn
from operators.steps import prior as interactions
from operators.steps import rank as ranking
from operators.tokens import count_tokens
from schemas import Contrast, Interaction, ItemFacts, PolicySkill, Position, Profile, derived_id
from schemas.fields import Domain, UserId
from streams.importers.dataset import BEGINNING
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING

SLIM_TOKENS = 30
SLIM_BUDGETS = (10, 20, 50, 100, 200)
TAUS = (0, 1, 2, 3)
FORMS = (Form.LISTWISE, Form.POINTWISE)
SWEPT = (NO_SKILL, PRIOR, COUNTS, BOTH)
"""The arms whose skills the sweeps rank with."""
FROZEN = (MODEL, COUNTS, BOTH)
"""The arms whose skills are frozen after tau choices."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The place that one ranking gave what was taken.

    Attributes:
        arm: the arm, `+` and the part of a sweep.
        user_id: whose choice it was.
        seen: how many choices came before.
        place: of the taken item, from 1.
        by: `model`, or `skill` for the skill alone without a model.
    """

    arm: str
    user_id: str
    seen: int
    place: int
    by: str = "model"


@dataclass
class Counted:
    """What came of the model's answers, by arm."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    unusable: Counter[str] = field(default_factory=Counter)
    learned: Counter[str] = field(default_factory=Counter)


class Player:
    """One user, in all arms.

    Args:
        plan: the plan.
        desk: the model's client, which keeps replies.
        arms: names of arms.
        sweeps: whether the sweeps are played too.
        counted: what came of the answers, summed over users.
    """

    def __init__(self, plan: Plan, desk: Desk, arms: Sequence[str], *, sweeps: bool, counted: Counted) -> None:
        self._plan = plan
        self._desk = desk
        self._arms = [ARMS[name] for name in arms]
        self._sweeps = sweeps
        self._counted = counted
        self._ranked: list[Ranked] = []
        self._tasks: list[asyncio.Task[None]] = []
        asks: dict[str, Any] = {"count_tokens": count_tokens}
        self._rankers = {form: LlmRanker(desk, form=form, **asks) for form in Form}
        self._rank = ranking.Rank(RankSkill.FULL, privacy=PRIVACY, vouching=VOUCHING)
        self._start = Start(privacy=OFF)

    async def play(self, user_id: str) -> list[Ranked]:
        """All rankings of this user."""
        states = await asyncio.gather(*(self._chain(arm, user_id) for arm in self._arms))
        held = {arm.name: skills for arm, skills in zip(self._arms, states, strict=True)}
        if self._sweeps:
            self._sweep(user_id, held)
            await self._hosts(user_id, held)
        await asyncio.gather(*self._tasks)
        return self._ranked

    async def _chain(self, arm: ModelArm, user_id: str) -> list[PolicySkill]:
        """The skill before each choice, and after the last; each choice is ranked with the skill before it."""
        plan = self._plan
        usual = fixed(plan.populations[user_id].usual)
        skill = self._begin(arm, user_id, usual)
        states = [skill]
        for seen, choice in enumerate(plan.choices[user_id]):
            self._measure(arm, user_id, seen, choice, skill)
            if arm.by != "nobody":
                skill = await self._learn(arm, user_id, choice, skill, usual)
            states.append(skill)
        return states

    def _begin(self, arm: ModelArm, user_id: str, usual: Mapping[str, int]) -> PolicySkill:
        plan = self._plan
        profile: Profile | None = None
        prior = interactions.Prior()
        for place, visit in enumerate(plan.past[user_id]):
            event = Interaction.model_construct(
                event_id=derived_id("visit", user_id, visit.item_id),
                occurred_at=visit.at,
                user_id=UserId(user_id),
                domain=Domain(plan.domain),
                item=None,  # type: ignore[arg-type]  # only its facts are read
            )
            source = Position(topic=Interaction.TOPIC, partition=0, offset=place, timestamp_ms=0)
            profile = prior.step(interactions.State(profile), event, plan.facts[visit.item_id], source).profile
        # Of the first event only these two are read.
        first = Contrast.model_construct(event_id=derived_id("seed", user_id), occurred_at=BEGINNING)  # type: ignore[call-arg]
        template = plan.populations[user_id].attributes
        skill = self._start.skill(user_id, plan.domain, first, profile, template, usual)
        return skill if arm.counts else without_counts(skill)

    def _measure(self, arm: ModelArm, user_id: str, seen: int, choice: Choice, skill: PolicySkill) -> None:
        slim = self._slim(user_id, skill) if arm.skill else ""
        self._ask(arm.name, user_id, seen, choice, slim, Form.FIRST_TOKEN)
        if arm.skill:
            alone = replace(DEFAULT_WEIGHTS, companions=0.0, popularity=0.0, facets=0.0)
            place = 1 + self._order(choice, skill, alone).index(choice.taken.item_id)
            self._ranked.append(Ranked(arm.name, user_id, seen, place, "skill"))

    def _sweep(self, user_id: str, held: Mapping[str, Sequence[PolicySkill]]) -> None:
        choices = self._plan.choices[user_id]
        for name in SWEPT:
            if name not in held:
                continue
            for seen, choice in enumerate(choices):
                skill = held[name][seen]
                slim = self._slim(user_id, skill) if ARMS[name].skill else ""
                for form in FORMS:
                    self._ask(f"{name}+{form.value}", user_id, seen, choice, slim, form)
                if name == BOTH:
                    for budget in SLIM_BUDGETS:
                        short = self._slim(user_id, skill, budget)
                        self._ask(f"{name}+slim-{budget}", user_id, seen, choice, short, Form.FIRST_TOKEN)
        for name in FROZEN:
            if name not in held:
                continue
            for seen in range(max(TAUS), len(choices)):
                for tau in TAUS:
                    slim = self._slim(user_id, held[name][tau])
                    self._ask(f"{name}+tau-{tau}", user_id, seen, choices[seen], slim, Form.FIRST_TOKEN)

    async def _hosts(self, user_id: str, held: Mapping[str, Sequence[PolicySkill]]) -> None:
        plan = self._plan
        for name, make in HOSTS.items():
            for skilled in (False, True):
                host = make(self._rankers[Form.FIRST_TOKEN])
                taken = [plan.facts[visit.item_id] for visit in plan.past[user_id]]
                arm = f"{name}+skill" if skilled else name
                for seen, choice in enumerate(plan.choices[user_id]):
                    items = [plan.facts[item_id] for item_id in choice.candidates]
                    slim = self._slim(user_id, held[BOTH][seen]) if skilled else ""
                    request = HostRequest(user_id, items, "", tuple(taken), slim, choice.request_id)
                    try:
                        order = await host.rank(request)
                    except ReasonerUnavailable:
                        self._counted.unusable[arm] += 1
                        order = tuple(choice.candidates)
                    self._ranked.append(Ranked(arm, user_id, seen, 1 + order.index(choice.taken.item_id)))
                    host.observe(request, choice.taken.item_id)
                    taken.append(plan.facts[choice.taken.item_id])

    def _ask(self, arm: str, user_id: str, seen: int, choice: Choice, slim: str, form: Form) -> None:
        """Have the model rank a list, beside what else is going on."""
        context = choice.context
        items = [self._plan.facts[item_id] for item_id in choice.candidates]
        task = Task(items, "", context.facets, context.companions, slim, seed=choice.request_id)

        async def work() -> None:
            try:
                order = (await self._rankers[form].rank(task)).order
            except ReasonerUnavailable:
                # As presented, which is random.
                self._counted.unusable[arm] += 1
                order = tuple(choice.candidates)
            self._ranked.append(Ranked(arm, user_id, seen, 1 + order.index(choice.taken.item_id)))

        self._tasks.append(asyncio.create_task(work()))

    async def _learn(
        self, arm: ModelArm, user_id: str, choice: Choice, skill: PolicySkill, usual: Mapping[str, int]
    ) -> PolicySkill:
        order = self._order(choice, skill, DEFAULT_WEIGHTS)
        facts: Mapping[str, ItemFacts] = {item_id: self._plan.facts[item_id] for item_id in order}
        taken = choice.taken
        contrast = Contrast(
            event_id=contrast_id(user_id, choice.request_id),
            occurred_at=taken.at,
            user_id=user_id,
            domain=self._plan.domain,
            ranking_id=choice.request_id,
            chosen=facts[taken.item_id],
            chosen_rank=order.index(taken.item_id) + 1,
            unchosen=reverse_rank([facts[item_id] for item_id in order], taken.item_id),
            skill_version=skill.version,
            facets=choice.context.facets,
            by_sager=True,
        )
        state = State(skill, usual=usual, popularity=choice.popularity)
        effects = await learn(arm.evolve, self._reason(arm), state, contrast)
        self._counted.learned[arm.name] += 1
        if effects.diff is not None:
            self._counted.verdicts.update((arm.name, str(said.verdict)) for said in effects.diff.judged)
            self._counted.changes.update((arm.name, change.kind.value) for change in effects.diff.changes)
        return effects.skill

    def _reason(self, arm: ModelArm) -> Any:
        if arm.by == "counts":
            return CountsReasoner().reason
        if arm.by == "lines":
            return LineReasoner(self._desk, on_unusable=lambda: self._unusable(arm), vouching=VOUCHING).reason
        if arm.by == "rewrite":
            replacer = LlmReplacer(self._desk, count_tokens=count_tokens, vouching=VOUCHING)

            async def rewrite(contrast: Contrast, skill: PolicySkill) -> Proposal | Replacement:
                try:
                    return await replacer.replace(contrast, skill)
                except ReasonerUnavailable:
                    self._unusable(arm)
                    return Proposal()

            return rewrite
        reasoner = GatedReasoner(LlmReasoner(self._desk, count_tokens=count_tokens, vouching=VOUCHING))

        async def reason(contrast: Contrast, skill: PolicySkill) -> Proposal:
            try:
                return await reasoner.reason(contrast, skill)
            except ReasonerUnavailable:
                self._unusable(arm)
                return Proposal()

        return reason

    def _unusable(self, arm: ModelArm) -> None:
        self._counted.unusable[arm.name] += 1

    def _order(self, choice: Choice, skill: PolicySkill, weights: Any) -> tuple[str, ...]:
        """The list as the product ranks it without a model."""
        items = [self._plan.facts[item_id] for item_id in choice.candidates]
        spoken = self._rank.spoken(items, self._rank.lines(skill), choice.context, choice.popularity)
        return self._rank.weighed(items, spoken, "", choice.request_id, weights).order

    def _slim(self, user_id: str, skill: PolicySkill, tokens: int = SLIM_TOKENS) -> str:
        shares = self._plan.populations[user_id].shares
        return replace(self._rank, slim_tokens=tokens).extract(skill, "", shares).record.text
