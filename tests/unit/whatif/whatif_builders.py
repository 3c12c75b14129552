"""A live side without a broker: choices and commands go in, a log comes out, as the agent `evolve` writes it."""

import asyncio
from dataclasses import dataclass, field

from operators.attributes import ranked_lines
from operators.evolve.proposals import CountsReasoner
from operators.learning.fold import fold, initial_skill
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits
from operators.slim.selection import SlimSelection
from operators.steps.evolve import EvolveEffects, EvolveState, EvolveStep
from operators.whatif import ReplayMoment, ReplaySeries, ReplaySide, replay, replay_series
from schemas import Attribute, Contrast, PolicySkill, SkillCommand, SkillDiff, Tier, encode
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, USER, a_contrast, a_position, an_attribute

SEED = (an_attribute("genre: noir", Tier.HIGH), an_attribute("genre: saga", Tier.MEDIUM))
GENRES = ("noir", "saga", "farce", "epic", "satire")


def an_arm(limits: MergeLimits = DEFAULT_LIMITS, rounds: int | None = None) -> ReplaySide:
    step = EvolveStep(limits, warmup_rounds=rounds, privacy=PRIVACY, gate=OUTPUT_GATE)
    return ReplaySide(step, CountsReasoner().reason)


def a_choice(number: int, genre: str) -> Contrast:
    others = [[f"genre: {other}", f"author: {other} {number}"] for other in GENRES if other != genre]
    chosen = [f"genre: {genre}", f"author: {genre} {number}"]
    return a_contrast(chosen, others, ranking_id=f"r{number}")


@dataclass
class LiveSide:
    """What a worker does with the events of one user, and what it leaves behind."""

    arm: ReplaySide = field(default_factory=an_arm)
    seed: tuple[Attribute, ...] = SEED
    held: dict[str, bytes] = field(default_factory=dict)
    commands: dict[str, SkillCommand] = field(default_factory=dict)
    diffs: list[SkillDiff] = field(default_factory=list)
    skill: PolicySkill | None = None

    def choose(self, contrast: Contrast, selection: SlimSelection | None = None) -> None:
        position = a_position(len(self.held))
        self.held[contrast.event_id] = encode(contrast)
        skill = self.skill or initial_skill(USER, DOMAIN, self.seed, contrast)
        prepared = self.arm.step.prepare(EvolveState(skill), contrast, position)
        if prepared.contrast is not None and prepared.outcome is None:
            answer = asyncio.run(self.arm.reason(prepared.contrast, skill))
            self._apply(self.arm.step.finish(EvolveState(skill), prepared.contrast, answer, position, selection))

    def command(self, command: SkillCommand) -> None:
        position = a_position(len(self.commands), topic="sager.skill-commands")
        self.commands[command.event_id] = command
        skill = self.skill or initial_skill(USER, DOMAIN, self.seed, command)
        self._apply(self.arm.step.command(EvolveState(skill), command, position))

    def _apply(self, effects: EvolveEffects) -> None:
        if effects.diff is not None:
            self.skill = effects.skill
            self.diffs.append(effects.diff)

    def series(self, forgotten: int = 0) -> ReplaySeries:
        """What is left of it where Kafka keeps the first choices no more."""
        return replay_series(self.diffs, dict(list(self.held.items())[forgotten:]), self.commands)

    def folded(self) -> PolicySkill:
        return fold(self.diffs)[USER, DOMAIN]


def replayed(told: ReplaySeries, other: ReplaySide | None = None) -> list[ReplayMoment]:
    async def collect() -> list[ReplayMoment]:
        return [moment async for moment in replay(told, ranked_lines, other or an_arm())]

    return asyncio.run(collect())
