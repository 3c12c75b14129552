"""The arms of the stream evaluation: what a user's skill begins with, and what a choice does to it.

Each is the worker's own steps with parts left out or exchanged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evaluation.exceptions import UnknownArm
from operators.evolve import CountsReasoner, Reasoner, RulesReasoner
from operators.options import EvolveMode
from operators.privacy import OFF
from operators.steps import Evolve
from schemas import PolicySkill
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING


@dataclass(frozen=True)
class Arm:
    """One arm.

    Attributes:
        name: its name in `--arm` and reports.
        what: its description, in one line.
        skill: the skill ranks.
        learns: the skill learns from choices and visits.
        evolve: how a choice changes a skill.
        reasoner: who proposes; made once per play.
        counts: lines say what their counts say; else what their tiers say.
    """

    name: str
    what: str
    skill: bool = True
    learns: bool = True
    evolve: Evolve = field(default_factory=lambda: Evolve(privacy=OFF, vouching=VOUCHING))
    reasoner: Callable[[], Reasoner] = CountsReasoner
    counts: bool = True


def without_counts(skill: PolicySkill) -> PolicySkill:
    """The skill with lines that say what their tiers say, which the former reasoner moves by one a choice."""
    lines = (line.model_copy(update={"taken": 0, "expected": 0}) for line in skill.attributes)
    return skill.model_copy(update={"attributes": tuple(lines)})


NO_SKILL, PRIOR, RULES, SAGER = "no-skill", "prior", "rules", "sager"
ARMS: Mapping[str, Arm] = MappingProxyType(
    {
        arm.name: arm
        for arm in (
            Arm(NO_SKILL, "the community alone", skill=False, learns=False),
            Arm(PRIOR, "the skill that the history gives, frozen", learns=False),
            Arm(
                RULES,
                "the former reasoner: one tier a choice, by rules",
                evolve=Evolve(mode=EvolveMode.INCREMENTAL, privacy=PRIVACY, vouching=VOUCHING),
                reasoner=RulesReasoner,
                counts=False,
            ),
            Arm(SAGER, "the product as it ships"),
        )
    }
)


def known(names: Iterable[str]) -> list[Arm]:
    """The arms of these names, each once.

    Raises:
        UnknownArm: one of them is unknown; the message lists all arms.
    """
    wanted = list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in ARMS]:
        raise UnknownArm(f"there is no arm {', '.join(map(repr, unknown))} in a stream; there are: {', '.join(ARMS)}")
    return [ARMS[name] for name in wanted]
