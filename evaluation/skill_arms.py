"""The product as an arm, with parts left out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from evaluation.community import event_at_beginning
from evaluation.plans import Choice, Plan
from evaluation.simulation import Turn
from operators import weights as weigh
from operators.admission import contrast_id
from operators.attributes import RankedLine
from operators.contrast import reverse_rank, with_usual
from operators.evolve.proposals import CountsReasoner, RulesReasoner
from operators.language.privacy import KEEP_ALL
from operators.learning.choice_model import ListFeatures
from operators.learning.evidence import to_fixed_point
from operators.learning.outcomes import outcome_of
from operators.options import EvolveMode
from operators.steps import prior as interactions
from operators.steps import rank as ranking
from operators.steps.evolve import EvolveState, EvolveStep, Reason, learn
from operators.steps.prior import SkillStart
from operators.weights import DEFAULT_WEIGHTS, RankWeights, softmax
from schemas import (
    Abstention,
    Contrast,
    Features,
    Interaction,
    ItemFacts,
    PolicySkill,
    Position,
    Profile,
    Weights,
    derived_id,
)
from schemas.base import Domain, UserId
from streams.importers.dataset import Visit
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY


class RankBy(StrEnum):
    """The ranker that is measured; users always see the mix.

    `skill` is the skill alone, `fixed` the sum of the skill and the community with the weights of a new domain, `mix`
    the sum with the weights as learned so far.
    """

    SKILL = "skill"
    FIXED = "fixed"
    MIX = "mix"


@dataclass(frozen=True)
class Rule:
    """The parts of the pipeline that an arm has.

    Without `from_history` skills start from nothing; `retrieves` uses the community's facets, companions and
    popularity; `weighs_domain` adds the numbers and tastes of the domain; `reason` makes a new reasoner for each run.
    With a `session_weight`, choices without two hours of silence between them are a session.
    """

    name: str
    description: str
    ranks: bool = True
    learns: bool = True
    from_history: bool = True
    retrieves: bool = True
    weighs_domain: bool = True
    evolve: EvolveStep = field(default_factory=lambda: EvolveStep(privacy=KEEP_ALL, gate=OUTPUT_GATE))
    reason: Callable[[], Reason] = lambda: CountsReasoner().reason
    session_weight: float | None = None


NO_SKILL, POPULATION, PRIOR, PAPER, FORMER = "no-skill", "population", "prior", "paper", "former"
SAGER, SESSIONS = "sager", "sessions"
BY_PAPER = EvolveStep(mode=EvolveMode.PAPER, privacy=PRIVACY, gate=OUTPUT_GATE)
# The arms of `sager eval stream`.
STREAM_RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(NO_SKILL, "the community alone", ranks=False, learns=False, weighs_domain=False),
        Rule(POPULATION, "the community and the domain's weights, no person", ranks=False, learns=False),
        Rule(PRIOR, "the skill that the history gives, frozen", learns=False),
        Rule(
            PAPER,
            "the mode paper: one tier a choice, by rules",
            evolve=BY_PAPER,
            reason=lambda: RulesReasoner().reason,
        ),
        Rule(FORMER, "the former learning rule: counts of facts, no numbers", weighs_domain=False),
        Rule(SAGER, "the product as it ships"),
        Rule(SESSIONS, "the same, for an app that names sessions", session_weight=ranking.SESSION_WEIGHT),
    )
}


@dataclass(frozen=True)
class RankedArm:
    """Orders of ids by ranker (none without a list), features, and predicted chances of the candidates."""

    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    features: Features | None = None
    chances: Mapping[str, float] = field(default_factory=dict)

    @property
    def order(self) -> tuple[str, ...]:
        """The shown order; empty for a visit without a list."""
        return self.orders.get(RankBy.MIX, ())

    def place(self, choice: Choice, by: str) -> int:
        """The rank of the taken item, from 1; of a list of one, 1 if its approval or rejection was expected."""
        if len(choice.candidates) == 1:
            return 1 if (self.chances[choice.candidates[0]] >= 0.5) is not choice.rejected else 2
        return 1 + self.orders[by].index(choice.taken.item_id)


@dataclass
class _Player:
    """One user in a run; `usual` has population shares in 1/1024."""

    usual: Mapping[str, int]
    profile: Profile | None
    skill: PolicySkill
    chosen: int = 0


@dataclass(frozen=True, slots=True)
class PlayedChoice:
    """One played choice with its list, enough to play it again."""

    user_id: str
    choice: Choice
    order: tuple[str, ...]


class SkillArm:
    """Skills that rank and learn as in the worker.

    `by` names rankers to measure besides the mix. Unless the arm `weighs`, weights stay at their start values, as an
    operator freezes them. `played` has all choices in order.
    """

    def __init__(
        self,
        rule: Rule,
        plan: Plan,
        by: Sequence[RankBy] = (),
        *,
        weighs: bool = True,
        slim_tokens: int = 30,
    ) -> None:
        self.name = rule.name
        self.rule = rule
        self.plan = plan
        self.played: list[PlayedChoice] = []
        self.weights: RankWeights = DEFAULT_WEIGHTS
        self._by = tuple(dict.fromkeys((*by, RankBy.MIX)))
        self._weighs = weighs
        # Items are compared as the data set has them, private or not.
        self._start = SkillStart(privacy=KEEP_ALL, from_history=rule.from_history, mode=rule.evolve.mode)
        self._prior = interactions.PriorStep()
        self._reason = rule.reason()
        self._rank = ranking.RankStep(
            rule.ranks,
            slim_tokens,
            retrieves=rule.retrieves,
            session_weight=rule.session_weight or 0.0,
            privacy=PRIVACY,
            gate=OUTPUT_GATE,
        )
        self._learned: Weights | None = None
        self._offset = 0
        self._players = {user_id: self._begin(user_id) for user_id in plan.choices}

    @property
    def skills(self) -> dict[str, PolicySkill]:
        """Every player's skill as it is now."""
        return {user_id: player.skill for user_id, player in self._players.items()}

    async def answer(self, turn: Turn[Choice]) -> RankedArm:
        """Rank a list; a visit without one gets no answer."""
        return await self.rank(turn.user_id, turn.shown) if turn.shown.shown else RankedArm()

    async def learn(self, turn: Turn[Choice], answer: RankedArm, reply: Visit) -> None:
        """Learn from the item that the user took."""
        player, choice = self._players[turn.user_id], turn.shown
        self.played.append(PlayedChoice(turn.user_id, choice, answer.order))
        if not answer.order:
            if self.rule.learns:
                self._visit(turn.user_id, player, reply)
            return
        contrast = self._contrast(turn.user_id, player, choice, answer, reply)
        skill = player.skill
        event = self._abstention(contrast) if choice.rejected else contrast
        if self.rule.learns and isinstance(event, Abstention):
            player.skill = self.rule.evolve.abstain(self._state(turn.user_id), event).skill
        elif self.rule.learns:
            await self._evolve(turn.user_id, contrast, choice.popularity)
        if self._weighs:
            self._weigh(player, skill, event)

    async def rank(self, user_id: str, choice: Choice, instruction: str = "") -> RankedArm:
        """The orders of a list by each ranker, now."""
        items, spoken = self.features(user_id, choice)
        weighed = {
            by: self._rank.order(items, spoken, instruction, choice.request_id, self._weights_of(by)) for by in self._by
        }
        parts = spoken.community(self.weights), spoken.scores(self.weights)
        # A list of one has the chance of taking none beside.
        chances = dict(zip(choice.candidates, softmax(list(map(math.fsum, zip(*parts, strict=True)))), strict=False))
        return RankedArm({by: found.order for by, found in weighed.items()}, weighed[RankBy.MIX].features, chances)

    def features(self, user_id: str, choice: Choice) -> tuple[list[ItemFacts], ListFeatures]:
        """The items of a list, with their features now."""
        skill = self._players[user_id].skill
        items = [self.plan.facts[item_id] for item_id in choice.candidates]
        at, context = choice.taken.at, choice.context
        lines = self._rank.session_lines(skill, self._lines(skill), at, self._session_id(skill, at))
        return items, self._rank.features_of(items, lines, context, choice.popularity, self.weights, skill.numbers)

    def _lines(self, skill: PolicySkill) -> Sequence[RankedLine]:
        """The lines that rank."""
        return self._rank.lines(skill)

    def _session_id(self, skill: PolicySkill, at: datetime) -> str | None:
        """The session of a moment: the newest one while it lasts, else a new one."""
        if self.rule.session_weight is None:
            return None
        newest = skill.sessions[-1] if skill.sessions else None
        return newest.session_id if newest is not None and newest.until > at else f"{at:%Y%m%dT%H%M%S}"

    def _weights_of(self, by: RankBy) -> RankWeights:
        match by:
            case RankBy.SKILL:
                return replace(self.weights, companions=0.0, popularity=0.0, facets=0.0)
            case RankBy.FIXED:
                return DEFAULT_WEIGHTS
            case RankBy.MIX:
                return self.weights

    def _begin(self, user_id: str) -> _Player:
        """A player after their history, with profile and skill."""
        profile: Profile | None = None
        for visit in self.plan.past[user_id]:
            profile = self._counted(profile, self._interaction(user_id, visit))
        usual = to_fixed_point(self.plan.populations[user_id].usual)
        return _Player(usual, profile, self._first_skill(user_id, profile, usual))

    def _first_skill(self, user_id: str, profile: Profile | None, usual: Mapping[str, int]) -> PolicySkill:
        template = self.plan.populations[user_id].attributes
        event = event_at_beginning(user_id)
        return self._start.skill(user_id, self.plan.domain, event, profile, template, usual)

    def _counted(self, profile: Profile | None, visit: Interaction) -> Profile | None:
        self._offset += 1
        source = Position(topic=Interaction.TOPIC, partition=0, offset=self._offset, timestamp_ms=0)
        facts = self.plan.facts[visit.item.item_id]
        return self._prior.step(interactions.PriorState(profile), visit, facts, source).profile

    def _interaction(self, user_id: str, visit: Visit) -> Interaction:
        return Interaction.model_construct(
            event_id=derived_id("visit", user_id, visit.item_id),
            occurred_at=visit.at,
            user_id=UserId(user_id),
            domain=Domain(self.plan.domain),
            item=self.plan.items[visit.item_id],
        )

    def _contrast(self, user_id: str, player: _Player, choice: Choice, answer: RankedArm, taken: Visit) -> Contrast:
        shown = [self.plan.facts[item_id] for item_id in answer.order]
        contrast = Contrast(
            event_id=contrast_id(user_id, choice.request_id),
            occurred_at=taken.at,
            user_id=user_id,
            domain=self.plan.domain,
            ranking_id=choice.request_id,
            chosen=self.plan.facts[taken.item_id],
            chosen_rank=answer.order.index(taken.item_id) + 1,
            unchosen=reverse_rank(shown, taken.item_id),
            skill_version=player.skill.version,
            facets=choice.context.facets,
            features=answer.features,
            by_sager=True,
            session_id=self._session_id(player.skill, taken.at),
        )
        found = with_usual(contrast, self.weights.usual)
        assert isinstance(found, Contrast)  # noqa: S101
        return found

    @staticmethod
    def _abstention(contrast: Contrast) -> Abstention:
        return Abstention(
            event_id=contrast.event_id,
            occurred_at=contrast.occurred_at,
            user_id=contrast.user_id,
            domain=contrast.domain,
            ranking_id=contrast.ranking_id,
            shown=(contrast.chosen,),
            features=contrast.features,
            usual=contrast.usual,
        )

    def _state(self, user_id: str, popularity: Mapping[str, int] | None = None) -> EvolveState:
        player = self._players[user_id]
        shares = self.plan.populations[user_id].shares
        return EvolveState(player.skill, shares=shares, usual=player.usual, popularity=popularity)

    async def _evolve(self, user_id: str, contrast: Contrast, popularity: Mapping[str, int]) -> None:
        state = self._state(user_id, popularity)
        self._players[user_id].skill = (await learn(self.rule.evolve, self._reason, state, contrast)).skill

    def _weigh(self, player: _Player, skill: PolicySkill, contrast: Contrast | Abstention) -> None:
        """Learn the domain's weights, before anyone's next choice; `skill` is that before this choice."""
        player.chosen += 1
        held = self._learned or weigh.initial_weights(self.plan.domain, contrast)
        outcome = outcome_of(contrast, skill, self.weights, player.chosen, held.version)
        if outcome is not None:
            self._learned = weigh.apply_outcome(held, outcome)
            self.weights = weigh.rank_weights(self._learned)
            if not self.rule.weighs_domain:
                self.weights = replace(self.weights, numbers={}, fact_counts={})

    def _visit(self, user_id: str, player: _Player, taken: Visit) -> None:
        """Count a visit without a list, for prior and skill."""
        visit = self._interaction(user_id, taken)
        player.profile = self._counted(player.profile, visit)
        if not player.skill.version:
            player.skill = self._first_skill(user_id, player.profile, player.usual)
            return
        state = self._state(user_id)
        player.skill = self.rule.evolve.visit(state, visit, self.plan.facts[taken.item_id]).skill
