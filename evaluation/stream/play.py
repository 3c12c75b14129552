"""Plays a plan with one arm, choice by choice, by the steps of the worker's agents."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from evaluation.arms.arm import Progress
from evaluation.stream.arms import Arm, without_counts
from evaluation.stream.plan import Choice, Plan
from operators import weigh
from operators.contrast import contrast_id, reverse_rank
from operators.evidence import fixed
from operators.privacy import OFF
from operators.rank import RankSkill
from operators.rank.weights import DEFAULT_WEIGHTS, RankWeights
from operators.retrieve import Retrieved
from operators.steps import Start, State, learn
from operators.steps import prior as interactions
from operators.steps import rank as ranking
from schemas import Contrast, Interaction, ItemFacts, PolicySkill, Position, Profile, Weights, derived_id
from schemas.fields import Domain, UserId
from streams.importers import Visit
from streams.importers.dataset import BEGINNING
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING

_EVERY = 100


class By(StrEnum):
    """What ranks when a choice is measured; the user is always shown the mix, and the skill learns from that list.

    `skill` is the skill alone, `fixed` the sum of the skill and the community with the weights of a new domain, `mix`
    the sum with the weights as learned so far.
    """

    SKILL = "skill"
    FIXED = "fixed"
    MIX = "mix"


@dataclass(frozen=True, slots=True)
class Turn:
    """One choice as it was played: enough to play it again elsewhere.

    Attributes:
        order: the candidates' ids as the user was shown them, best first; empty for a visit without a list.
    """

    user_id: str
    choice: Choice
    order: tuple[str, ...]


@dataclass
class Played:
    """What came of a play.

    Attributes:
        arm: the arm.
        places: by what ranks and by user, the rank of the taken item at each measured choice, in order, from 1.
        seen: by user, how many choices and visits after the history were seen before each measured choice.
        turns: all choices, measured or not, in the order in which they went.
        skills: every player's skill after their last choice.
        weights: the domain's weights after the last choice of anybody.
        cpu_seconds: the time of ranking and learning.
    """

    arm: str
    places: dict[By, dict[str, list[int]]]
    seen: dict[str, list[int]]
    turns: list[Turn] = field(default_factory=list)
    skills: dict[str, PolicySkill] = field(default_factory=dict)
    weights: RankWeights = DEFAULT_WEIGHTS
    cpu_seconds: float = 0.0

    @property
    def cpu_ms_per_choice(self) -> float:
        """What a choice costs, measured or not: ranked once per `by`, and learned from."""
        return 1_000 * self.cpu_seconds / len(self.turns)


@dataclass
class _Player:
    """One user in a play.

    Attributes:
        usual: what is to be expected of anybody else, in 1/1024.
        profile: what the prior has counted.
        skill: as it is now.
        played: how many choices and visits there were.
        chosen: how many of them were choices from a list.
    """

    user_id: str
    usual: Mapping[str, int]
    profile: Profile | None
    skill: PolicySkill
    played: int = 0
    chosen: int = 0


def interleaved(choices: Mapping[str, Sequence[object]], seed: int) -> list[str]:
    """Whose turn it is, once per choice, in a random order: users come side by side, as in a stream.

    >>> sorted(interleaved({"ann": "xy", "bob": "z"}, 0))
    ['ann', 'ann', 'bob']
    """
    turns = [user_id for user_id in sorted(choices) for _ in choices[user_id]]
    random.Random(f"{seed}/interleaved").shuffle(turns)
    return turns


class Play:
    """One play of a plan.

    Args:
        arm: how users' skills begin and learn.
        plan: what is played.
        by: what is measured.
        seed: the seed of the interleaving.
        weighs: the weights learn; else they stay at their start values, as an operator freezes them.
    """

    def __init__(
        self, arm: Arm, plan: Plan, by: Sequence[By] = tuple(By), seed: int = 0, *, weighs: bool = True
    ) -> None:
        self._arm = arm
        self._plan = plan
        self._by = tuple(dict.fromkeys(by))
        self._seed = seed
        self._weighs = weighs
        # Items are compared as the data set has them, private or not.
        self._start = Start(privacy=OFF)
        self._prior = interactions.Prior()
        self._reasoner = arm.reasoner()
        self._rank = ranking.Rank(RankSkill.FULL if arm.skill else RankSkill.NONE, privacy=PRIVACY, vouching=VOUCHING)
        self._weights: Weights | None = None
        self._in_use = DEFAULT_WEIGHTS
        self._offset = 0

    async def run(self, progress: Progress = lambda *_, **__: None) -> Played:
        """Plays all choices."""
        began = time.process_time()
        plan = self._plan
        played = Played(
            self._arm.name,
            {by: {user_id: [] for user_id in plan.choices} for by in self._by},
            {user_id: [] for user_id in plan.choices},
        )
        players = {user_id: self._begin(user_id) for user_id in plan.choices}
        turns = interleaved(plan.choices, self._seed)
        for done, user_id in enumerate(turns):
            if not done % _EVERY:
                progress(done, len(turns), "choices")
            await self._turn(players[user_id], played)
        progress(len(turns), len(turns), "choices")
        played.skills = {user_id: player.skill for user_id, player in players.items()}
        played.weights = self._in_use
        played.cpu_seconds = time.process_time() - began
        return played

    def _begin(self, user_id: str) -> _Player:
        """A player after their history: the profile is counted, the skill starts from it."""
        profile: Profile | None = None
        for visit in self._plan.past[user_id]:
            profile = self._counted(profile, self._interaction(user_id, visit))
        usual = fixed(self._plan.populations[user_id].usual)
        return _Player(user_id, usual, profile, self._start_of(user_id, profile, usual))

    def _start_of(self, user_id: str, profile: Profile | None, usual: Mapping[str, int]) -> PolicySkill:
        # Of the first event only these two are read.
        first = Contrast.model_construct(event_id=derived_id("seed", user_id), occurred_at=BEGINNING)  # type: ignore[call-arg]
        template = self._plan.populations[user_id].attributes
        skill = self._start.skill(user_id, self._plan.domain, first, profile, template, usual)
        return skill if self._arm.counts else without_counts(skill)

    def _counted(self, profile: Profile | None, visit: Interaction) -> Profile | None:
        self._offset += 1
        source = Position(topic=Interaction.TOPIC, partition=0, offset=self._offset, timestamp_ms=0)
        facts = self._plan.facts[visit.item.item_id]
        return self._prior.step(interactions.State(profile), visit, facts, source).profile

    def _interaction(self, user_id: str, visit: Visit) -> Interaction:
        return Interaction.model_construct(
            event_id=derived_id("visit", user_id, visit.item_id),
            occurred_at=visit.at,
            user_id=UserId(user_id),
            domain=Domain(self._plan.domain),
            item=self._plan.items[visit.item_id],
        )

    async def _turn(self, player: _Player, played: Played) -> None:
        choice = self._plan.choices[player.user_id][player.played]
        order: tuple[str, ...] = ()
        if choice.shown:
            items = [self._plan.facts[item_id] for item_id in choice.candidates]
            lines = self._rank.lines(player.skill)
            spoken = self._rank.spoken(items, lines, choice.context, choice.popularity)
            ranked = {
                by: self._rank.weighed(items, spoken, "", choice.request_id, self._weighing(by))
                for by in {*self._by, By.MIX}
            }
            for by in self._by:
                played.places[by][player.user_id].append(1 + ranked[by].order.index(choice.taken.item_id))
            played.seen[player.user_id].append(player.played)
            order = ranked[By.MIX].order
            contrast = self._contrast(player, choice, ranked[By.MIX])
            if self._arm.learns:
                await self._learn(player, contrast, choice.popularity)
            if self._weighs:
                self._weigh(player, contrast)
        elif self._arm.learns:
            self._visit(player, choice.taken)
        played.turns.append(Turn(player.user_id, choice, order))
        player.played += 1

    def order(
        self,
        skill: PolicySkill,
        items: Sequence[ItemFacts],
        context: Retrieved,
        popularity: Mapping[str, int],
        seed: str,
        instruction: str = "",
    ) -> tuple[str, ...]:
        """The items' ids, best first, with the weights as they are now.

        Args:
            skill: the user's.
            items: the candidates, parsed.
            context: what the community says.
            popularity: how many others took a candidate.
            seed: decides between candidates that tie.
            instruction: what the user asked for.
        """
        spoken = self._rank.spoken(items, self._rank.lines(skill), context, popularity)
        return self._rank.weighed(items, spoken, instruction, seed, self._in_use).order

    def _weighing(self, by: By) -> RankWeights:
        match by:
            case By.SKILL:
                return replace(self._in_use, companions=0.0, popularity=0.0, facets=0.0)
            case By.FIXED:
                return DEFAULT_WEIGHTS
            case By.MIX:
                return self._in_use

    def _contrast(self, player: _Player, choice: Choice, ranked: ranking.Weighed) -> Contrast:
        facts: Mapping[str, ItemFacts] = {item_id: self._plan.facts[item_id] for item_id in ranked.order}
        taken = choice.taken
        return Contrast(
            event_id=contrast_id(player.user_id, choice.request_id),
            occurred_at=taken.at,
            user_id=player.user_id,
            domain=self._plan.domain,
            ranking_id=choice.request_id,
            chosen=facts[taken.item_id],
            chosen_rank=ranked.order.index(taken.item_id) + 1,
            unchosen=reverse_rank([facts[item_id] for item_id in ranked.order], taken.item_id),
            skill_version=player.skill.version,
            facets=choice.context.facets,
            features=ranked.features,
            by_sager=True,
        )

    async def _learn(self, player: _Player, contrast: Contrast, popularity: Mapping[str, int]) -> None:
        shares = self._plan.populations[player.user_id].shares
        state = State(player.skill, shares=shares, usual=player.usual, popularity=popularity)
        player.skill = (await learn(self._arm.evolve, self._reasoner.reason, state, contrast)).skill

    def _weigh(self, player: _Player, contrast: Contrast) -> None:
        """What the choice says about the domain's weights: learned before the next choice of anybody."""
        player.chosen += 1
        held = self._weights or weigh.start(self._plan.domain, contrast)
        said = weigh.outcome_of(contrast, self._in_use, player.chosen, b"", held.version)
        if said is not None:
            self._weights = weigh.learned(held, said)
            self._in_use = weigh.in_use(self._weights)

    def _visit(self, player: _Player, taken: Visit) -> None:
        """A visit without a list: counted for the prior, and in the skill once there is one."""
        visit = self._interaction(player.user_id, taken)
        player.profile = self._counted(player.profile, visit)
        if not player.skill.version:
            player.skill = self._start_of(player.user_id, player.profile, player.usual)
            return
        state = State(player.skill, shares=self._plan.populations[player.user_id].shares, usual=player.usual)
        player.skill = self._arm.evolve.visit(state, visit, self._plan.facts[taken.item_id]).skill
