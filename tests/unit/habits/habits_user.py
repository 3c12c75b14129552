"""A user of the product, without Kafka: a skill that learns from choices by the worker's own step."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from operators.evolve import CountsReasoner
from operators.habit_directions import DIRECTION_OF
from operators.learning.questions import Sides, TasteHistory, sides_of_items
from operators.steps import EvolveState, EvolveStep, SkillStart
from schemas import Attribute, Contrast, ItemFacts, PolicySkill
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_STEP, _START, _REASONER = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE), SkillStart(privacy=PRIVACY), CountsReasoner()


class User:
    """Someone who begins without a history.

    Attributes:
        skill: what was learned of them; None before the first choice.
    """

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self.skill: PolicySkill | None = None

    @property
    def habits(self) -> dict[str, Attribute]:
        """The lines about how they decide, by attribute id."""
        lines = () if self.skill is None else self.skill.attributes
        return {line.attribute_id: line for line in lines if line.attribute_id in DIRECTION_OF}

    def sides(
        self, items: Sequence[ItemFacts], instruction: str = "", popularity: Mapping[str, int] | None = None
    ) -> Sides:
        """Where the items of a list stand for this user now."""
        lines = () if self.skill is None else self.skill.attributes
        return sides_of_items(items, TasteHistory.of(lines), instruction, popularity)

    def takes(
        self, items: Sequence[ItemFacts], place: int, instruction: str = "", popularity: Mapping[str, int] | None = None
    ) -> None:
        """Learn from the choice of the item at this place of a list."""
        version = 0 if self.skill is None else self.skill.version
        contrast = Contrast(
            event_id=f"choice-{version}",
            occurred_at=_NOW,
            user_id="user",
            domain=self._domain,
            ranking_id=f"ranking-{version}",
            instruction=instruction,
            chosen=items[place],
            chosen_rank=place + 1,
            unchosen=tuple(item for n, item in reversed(list(enumerate(items))) if n != place),
        )
        skill = self.skill or _START.skill("user", self._domain, contrast, None)
        answer = _REASONER.propose(contrast, skill)
        self.skill = _STEP.finish(EvolveState(skill, popularity=popularity), contrast, answer).skill
