"""One question per line of a skill, answered by one token: the shape in which small models judge best.

Only for comparison: it costs as many calls as there are lines, and finds no contradiction.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from operators.asks import Chooses
from operators.attributes import fact_id
from operators.evolve import Proposal, ReasonerUnavailable
from operators.evolve.draft import quoting
from operators.evolve.question import MAX_JUDGED
from operators.habits import is_habit
from operators.prompts import as_data
from operators.vouch import Vouching
from schemas import Contrast, Judgement, PolicySkill, ReasonedBy, Verdict

NAME: Final = "evolve_line"
_PROMPT: Final = """Item: {item}

Does this item clearly fit the description "{line}"? Answer yes or no."""
_FACTS, _TITLE_CHARS = 12, 80
_VERDICTS: Final = {True: Verdict.SUPPORTS, False: Verdict.UNRELATED}


class LineReasoner:
    """Asks of each line on the chosen item's dimensions whether the item fits it.

    A line that the item states needs no question. Of the others, those to which `yes` is the likelier first token are
    supported; none is contradicted, and nothing is discovered: counts do that.

    Args:
        client: the model's client; its creator closes it.
        on_unusable: told of each question without a usable answer; the line counts as unrelated then.
        vouching: which values a prompt may show.
    """

    name = "llm"

    def __init__(self, client: Chooses, *, on_unusable: Callable[[], None], vouching: Vouching) -> None:
        self._client = client
        self._on_unusable = on_unusable
        self._vouching = vouching

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """What the lines' answers propose; a line without an answer counts as unrelated."""
        quote = quoting(contrast, skill.attributes, self._vouching)
        dimensions = {fact.dimension for fact in contrast.chosen.facts}
        stated = {fact_id(fact) for fact in contrast.chosen.facts}
        facts = "; ".join(quote(fact.dimension, fact.value) for fact in contrast.chosen.facts[:_FACTS])
        item = f"{as_data(contrast.chosen.title, _TITLE_CHARS)} | {facts}"
        said = [line for line in skill.attributes if line.tier and not is_habit(line)]
        lines = [line for line in said if line.dimension in dimensions]
        lines.sort(key=lambda line: (-line.tier, -line.confirmed_at, line.attribute_id))
        told = await asyncio.gather(
            *(
                self._fits(item, quote(line.dimension, line.value))
                for line in lines[:MAX_JUDGED]
                if line.attribute_id not in stated
            )
        )
        asked = [line.attribute_id for line in lines[:MAX_JUDGED] if line.attribute_id not in stated]
        fits = {name: answer[0] for name, answer in zip(asked, told, strict=True) if answer is not None}
        by = next((answer[1] for answer in told if answer is not None), ReasonedBy(reasoner=self.name))
        judged = [Judgement(attribute_id=name, verdict=_VERDICTS[is_fit]) for name, is_fit in fits.items()]
        supported = [name for name, is_fit in fits.items() if is_fit]
        return Proposal(reinforced=tuple(supported), judged=tuple(judged), reasoned_by=by)

    async def _fits(self, item: str, line: str) -> tuple[bool, ReasonedBy] | None:
        """Whether the item fits a line; None without a usable answer."""
        try:
            answer = await self._client.first_token(_PROMPT.format(item=item, line=line), ("yes", "no"), name=NAME)
        except ReasonerUnavailable:
            self._on_unusable()
            return None
        return answer.logprobs["yes"] > answer.logprobs["no"], answer.reasoned_by(NAME)
