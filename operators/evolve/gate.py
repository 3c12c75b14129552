"""The gate: a choice that can teach a model's reasoner nothing is answered without the model.

What "nothing new" means. A call may do three things to a skill, and each has to be out of the question:

- Reinforce. Every line that the chosen item states is high already. A lower one, and be it by a fact far down the
  item's list, opens the gate: the choice could raise it. A line is therefore asked about until it has risen.
- Discover. No fact is news. News are only facts that a model is offered: of the item's most telling ones
  (`MAX_OFFERED`) those that no line covers and that most of the items left do not have. The tenth keyword of an item,
  or the language that all items share, would otherwise hold the gate open for ever.
- Weaken. In each dimension that the offered facts speak of and in which the skill has lines, the choice stayed with a
  line. A choice within known tastes contradicts none of them; the rules hold the same.

How often that is: hardly ever where nearly every item brings an author, a director or keywords of its own, which are
news by this measure (under 1% of choices on films, books and places with the rules). It pays where items are
described by a few shared words, and for users who take the same few things again.

What is lost: a model may find that a fact supports a line of other words. With such lines at stake there is mostly
news too, and what is lost once is asked again at the next choice.
"""

from collections.abc import Callable
from dataclasses import dataclass

from operators.evolve.choice import Choice
from operators.evolve.proposal import Proposal, Reasoner
from schemas import Contrast, PolicySkill, ReasonedBy, Tier


def nothing_new(contrast: Contrast, skill: PolicySkill) -> bool:
    """Whether this choice only repeats what the skill is sure of already."""
    choice = Choice.of(contrast)
    said = [line for line in skill.attributes if line.tier]
    stated = [line for line in said if line.attribute_id in choice.facts]
    if not stated or any(line.tier < Tier.HIGH for line in stated) or choice.news(skill):
        return False
    loyal = {line.dimension for line in stated}
    spoken = {choice.facts[name].dimension for name in choice.offered()}
    return not any(line.dimension in spoken - loyal for line in said)


@dataclass(frozen=True)
class GatedReasoner:
    """A reasoner that is asked only when there is something new to judge.

    Attributes:
        inner: who is asked then.
        on_gated: told of every choice that was answered without it.
    """

    inner: Reasoner
    on_gated: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        """The inner reasoner's: the record says by itself what was gated."""
        return self.inner.name

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """The inner reasoner's proposal; where nothing is new, one that keeps fresh what the choice repeats.

        Raises:
            ReasonerUnavailable: the inner reasoner was asked and has no answer.
        """
        if not nothing_new(contrast, skill):
            return await self.inner.reason(contrast, skill)
        self.on_gated()
        choice = Choice.of(contrast)
        held = {line.attribute_id for line in skill.attributes}
        repeated = tuple(name for name in choice.facts if name in held)
        return Proposal(
            reinforced=repeated,
            reasons=dict.fromkeys(repeated, "the chosen item has it, and nothing that is new"),
            reasoned_by=ReasonedBy(reasoner=self.name, gated=True),
        )
