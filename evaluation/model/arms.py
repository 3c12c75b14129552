"""The arms of the comparison with a model: what a skill begins with, and who says what a choice does to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from operators.merge import MergeLimits
from operators.options import EvolveMode
from operators.privacy import OFF
from operators.steps import Evolve
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING


@dataclass(frozen=True)
class ModelArm:
    """One arm.

    Attributes:
        name: its name in reports.
        what: its description, in one line.
        skill: the model that ranks sees the slim skill.
        by: who says what a choice does: `nobody` (the skill is frozen), `counts`, `model`, `lines` (a model, asked
            about one line at a time), or `rewrite` (a model that writes the skill anew).
        evolve: how an answer changes a skill.
        counts: lines say what their counts say; else what their tiers say.
    """

    name: str
    what: str
    skill: bool = True
    by: str = "nobody"
    evolve: Evolve = field(default_factory=lambda: Evolve(privacy=OFF, vouching=VOUCHING))
    counts: bool = True


def _weighing(weight: float) -> Evolve:
    return Evolve(limits=MergeLimits(verdict_weight=weight), privacy=PRIVACY, vouching=VOUCHING)


_INCREMENTAL = Evolve(mode=EvolveMode.INCREMENTAL, privacy=PRIVACY, vouching=VOUCHING)
_REPLACE = Evolve(mode=EvolveMode.REPLACE, privacy=PRIVACY, vouching=VOUCHING)
NO_SKILL, PRIOR, REPLACE, MODEL, COUNTS = "no-skill", "statinit", "replace", "incremental", "counts"
BOTH, BY_LINE = "counts-and-model", "counts-and-lines"
ARMS: Mapping[str, ModelArm] = MappingProxyType(
    {
        arm.name: arm
        for arm in (
            ModelArm(NO_SKILL, "the community alone", skill=False),
            ModelArm(PRIOR, "the skill that the history gives, frozen"),
            ModelArm(
                REPLACE,
                "each choice has the model write the skill anew",
                by="rewrite",
                evolve=Evolve(mode=EvolveMode.REPLACE, privacy=PRIVACY, vouching=VOUCHING),
                counts=False,
            ),
            ModelArm(MODEL, "the model's verdicts, one tier a choice", by="model", evolve=_INCREMENTAL, counts=False),
            ModelArm(COUNTS, "counts alone: the product as it ships", by="counts"),
            ModelArm(BOTH, "counts, and the model's verdicts at half a choice each", by="model"),
            ModelArm(f"{BOTH}-0.25", "the same at a quarter", by="model", evolve=_weighing(0.25)),
            ModelArm(f"{BOTH}-1", "the same at a whole choice", by="model", evolve=_weighing(1.0)),
            ModelArm(BY_LINE, "counts, and one yes-or-no question per line, at half a choice", by="lines"),
        )
    }
)
