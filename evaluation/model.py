"""The paper's tables with a real model, on the same choices.

A user is shown the list as the product ranks it without a model, so that no arm's rankings by a model change what it
learns from. Each list is ranked by the model before the choice is learned from; the sweeps rank the same lists with
longer and shorter slim skills, with skills frozen earlier, and by other hosts.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from evaluation.hosts import HOSTS, HostRequest
from evaluation.llm import client_of, lenient
from evaluation.measures import Places, minus, summary
from evaluation.plans import Choice, Plan
from evaluation.replies import CachedClient, Replies
from evaluation.simulation import Progress, Turn, no_progress, side_by_side, simulate
from evaluation.skill_arms import BY_PAPER, RankBy, RankedArm, Rule, SkillArm
from evaluation.stream import choose
from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import CountsReasoner, ReasonerUnavailable
from operators.learning.limits import MergeLimits
from operators.rank import RankTask
from operators.rank.listwise import ListwiseRanker
from operators.steps import EvolveStep, Reason, learn
from schemas import Contrast, PolicySkill
from streams.importers import Visit
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import Settings

SLIM_BUDGETS = (10, 20, 50, 100, 200)
TAUS = (0, 1, 2, 3)
# The ranker of an arm's lists beside `By.SKILL`: the model, which sees the slim skill.
MODEL = "model"


def _verdicts(client: CachedClient, on_unusable: Callable[[], object]) -> Reason:
    return lenient(LlmReasoner(client, gate=OUTPUT_GATE).reason, on_unusable)


def _counts(*_: object) -> Reason:
    return CountsReasoner().reason


@dataclass(frozen=True)
class ModelArm:
    """One arm: a rule, and the reasoner of its choices."""

    rule: Rule
    reason: Callable[[CachedClient, Callable[[], object]], Reason] = _counts


def _weighing(weight: float) -> EvolveStep:
    return EvolveStep(limits=MergeLimits(verdict_weight=weight), privacy=PRIVACY, gate=OUTPUT_GATE)


NO_SKILL, PRIOR, PAPER, COUNTS = "no-skill", "statinit", "paper", "counts"
BOTH = "counts-and-model"
ARMS: Mapping[str, ModelArm] = {
    arm.rule.name: arm
    for arm in (
        ModelArm(Rule(NO_SKILL, "the community alone", ranks=False, learns=False)),
        ModelArm(Rule(PRIOR, "the skill that the history gives, frozen", learns=False)),
        ModelArm(
            Rule(PAPER, "the mode paper: the model's verdicts, one tier a choice", evolve=BY_PAPER),
            _verdicts,
        ),
        ModelArm(Rule(COUNTS, "counts alone: the product as it ships")),
        ModelArm(Rule(BOTH, "counts, and the model's verdicts at half a choice each"), _verdicts),
        ModelArm(Rule(f"{BOTH}-0.25", "the same at a quarter", evolve=_weighing(0.25)), _verdicts),
        ModelArm(Rule(f"{BOTH}-1", "the same at a whole choice", evolve=_weighing(1.0)), _verdicts),
    )
}
# The arms whose skills are frozen after tau choices.
FROZEN = (PAPER, COUNTS, BOTH)


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """The taken item's place, from 1, by `model` or `skill`.

    `arm` may have `+` and the part of a sweep; `seen` is the number of choices before.
    """

    arm: str
    user_id: str
    seen: int
    place: int
    by: str = MODEL


@dataclass
class CountedReasoner:
    """Counts over the model's answers, by arm."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    unusable: Counter[str] = field(default_factory=Counter)
    learned: Counter[str] = field(default_factory=Counter)


class _Skills(SkillArm):
    """One user's skill in one arm, whose changes are counted."""

    def __init__(self, arm: ModelArm, plan: Plan, client: CachedClient, counted: CountedReasoner) -> None:
        name = arm.rule.name
        self._totals = counted
        reason = arm.reason(client, lambda: counted.unusable.update([name]))
        rule = replace(arm.rule, reason=lambda: reason, ranks=True)
        super().__init__(rule, plan, (RankBy.SKILL,), weighs=False, shares=False)

    async def _evolve(self, user_id: str, contrast: Contrast, popularity: Mapping[str, int]) -> None:
        state = self._state(user_id, popularity)
        effects = await learn(self.rule.evolve, self._reason, state, contrast)
        self._players[user_id].skill = effects.skill
        self._totals.learned[self.name] += 1
        if effects.diff is not None:
            self._totals.verdicts.update((self.name, str(said.verdict)) for said in effects.diff.judged)
            self._totals.changes.update((self.name, change.kind.value) for change in effects.diff.changes)


class Player:
    """One user, in all arms."""

    def __init__(self, user_id: str, plan: Plan, client: CachedClient, counted: CountedReasoner) -> None:
        self._user_id = user_id
        self._plan = plan.of([user_id])
        self._client, self._counted = client, counted
        self._choices = plan.choices[user_id]
        self._ranker = ListwiseRanker(client, orders=1, gate=OUTPUT_GATE)
        self._slims = SkillArm(ARMS[COUNTS].rule, self._plan)
        self._before: dict[str, list[PolicySkill]] = {}
        """Each arm's skill before each choice."""

    async def play(self, arms: Sequence[str], *, sweeps: bool) -> list[RankedPlace]:
        """All rankings of this user."""
        places = await asyncio.gather(*(self._chain(ARMS[name]) for name in arms))
        if sweeps:
            places += await asyncio.gather(*self._sweeps())
            places += [await self._host(host, skilled=skilled) for host in HOSTS for skilled in (False, True)]
        return [place for of_arm in places for place in of_arm]

    async def _chain(self, arm: ModelArm) -> list[RankedPlace]:
        """Rank each choice with the skill before it, then learn."""
        skills, found = _Skills(arm, self._plan, self._client, self._counted), list[RankedPlace]()
        name, before = arm.rule.name, self._before.setdefault(arm.rule.name, [])

        def record(turn: Turn[Choice], answer: RankedArm, reply: Visit) -> None:
            del reply
            if arm.rule.ranks:
                place = answer.place(turn.shown, RankBy.SKILL)
                found.append(RankedPlace(name, self._user_id, len(before), place, RankBy.SKILL.value))
            before.append(skills.skills[self._user_id])

        await simulate([Turn(self._user_id, choice) for choice in self._choices], skills, choose, record)
        return found + await self._ranked(name, name, range(len(before)))

    def _sweeps(self) -> list[Any]:
        everywhere = range(len(self._choices))
        found = []
        if BOTH in self._before:
            found += [self._ranked(f"{BOTH}+slim-{n}", BOTH, everywhere, tokens=n) for n in SLIM_BUDGETS]
        late = range(max(TAUS), len(self._choices))
        for arm in FROZEN:
            if arm in self._before:
                found += [self._ranked(f"{arm}+tau-{tau}", arm, late, frozen=tau) for tau in TAUS]
        return found

    async def _ranked(
        self, label: str, arm: str, seen: range, *, tokens: int = 30, frozen: int | None = None
    ) -> list[RankedPlace]:
        """Have the model rank lists with an arm's slim skill."""

        async def place(before: int) -> RankedPlace:
            choice, skill = self._choices[before], self._before[arm][before if frozen is None else frozen]
            items = [self._plan.facts[item_id] for item_id in choice.candidates]
            slim = self._slims.slim(self._user_id, skill, tokens) if ARMS[arm].rule.ranks else ""
            context = choice.context
            task = RankTask(items, "", context.facets, context.companions, slim, seed=choice.request_id)
            try:
                order = (await self._ranker.rank(task)).order
            except ReasonerUnavailable:
                self._counted.unusable[label] += 1
                order = choice.candidates  # as presented, which is random
            return RankedPlace(label, self._user_id, before, 1 + order.index(choice.taken.item_id))

        return list(await asyncio.gather(*map(place, seen)))

    async def _host(self, name: str, *, skilled: bool) -> list[RankedPlace]:
        host, label = HOSTS[name](self._ranker), f"{name}+skill" if skilled else name
        taken = [self._plan.facts[visit.item_id] for visit in self._plan.past[self._user_id]]
        found = []
        for before, choice in enumerate(self._choices):
            items = [self._plan.facts[item_id] for item_id in choice.candidates]
            slim = self._slims.slim(self._user_id, self._before[BOTH][before]) if skilled else ""
            request = HostRequest(self._user_id, items, "", tuple(taken), slim, choice.request_id)
            try:
                order = await host.rank(request)
            except ReasonerUnavailable:
                self._counted.unusable[label] += 1
                order = choice.candidates
            found.append(RankedPlace(label, self._user_id, before, 1 + order.index(choice.taken.item_id)))
            host.observe(request, choice.taken.item_id)
            taken.append(self._plan.facts[choice.taken.item_id])
        return found


async def run(
    plan: Plan,
    settings: Settings,
    replies: Replies,
    *,
    arms: Sequence[str] = tuple(ARMS),
    swept: int = 0,
    concurrency: int = 16,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Play all users, and return the outcome as plain values.

    The first `swept` users of the plan play the sweeps too. Kept replies are not asked again. If the endpoint does not
    answer, QualityError is raised, and all replies so far are kept.
    """
    users, counted = list(plan.choices), CountedReasoner()
    client = client_of(settings, replies)
    ranked: dict[str, list[RankedPlace]] = {}

    async def play(user_id: str) -> None:
        player = Player(user_id, plan, client, counted)
        ranked[user_id] = await player.play(arms, sweeps=user_id in users[:swept])
        progress("users", len(ranked), len(users))

    try:
        await side_by_side(users, play, concurrency)
    finally:
        await client.aclose()
    return {
        "data": plan.data,
        "lists": plan.lists,
        "history": plan.history,
        "model": settings.llm_model,
        "users": users,
        "swept": users[:swept],
        "ranked": [asdict(place) for user_id in users for place in ranked[user_id]],
        "verdicts": _by_arm(counted.verdicts),
        "changes": _by_arm(counted.changes),
        "learned": dict(counted.learned),
        "unusable": dict(counted.unusable),
        "calls": client.spent.calls,
        "cached_calls": client.spent.cached_calls,
        "prompt_tokens": client.spent.prompt_tokens,
        "completion_tokens": client.spent.completion_tokens,
    }


def _by_arm(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (arm, kind), times in sorted(counts.items()):
        found.setdefault(arm, {})[kind] = times
    return found


def lines_of(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures of all arms, one object per arm and ranker.

    Each arm is compared with the arm whose part it changes, or else with no skill (by the model) or the prior (by the
    skill alone).
    """
    places: dict[tuple[str, str], dict[str, dict[int, int]]] = {}
    for each in found["ranked"]:
        of_arm = places.setdefault((each["by"], each["arm"]), {})
        of_arm.setdefault(each["user_id"], {})[each["seen"]] = each["place"]
    lines = []
    for (by, arm), of_arm in sorted(places.items()):
        figures = summary(of_arm)
        base = arm.partition("+")[0] if "+" in arm else NO_SKILL if by == MODEL else PRIOR
        other: Places | None = places.get((by, base)) if base != arm else None
        lines.append(
            {
                "data": found["data"],
                "arm": arm,
                "by": by,
                **figures.as_json(),
                "early": round(figures.early, 4),
                "late": round(figures.late, 4),
                "minus": None if other is None else {base: minus(of_arm, other).as_json()},
                "unusable": found["unusable"].get(arm, 0),
            }
        )
    return lines
