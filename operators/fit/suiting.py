"""The fit of a list: the chance of each candidate, that none suits, and whether it is better to show nothing."""

from collections.abc import Sequence

from operators.fit.acceptance import candidates, chance, none_suits, power_of
from operators.fit.known import Known
from operators.fit.question import question_of
from operators.privacy import Privacy
from schemas import Fit, ItemFacts, PolicySkill, Statement

SUITS = 0.58
"""Better show nothing than what has a smaller chance: who is shown what does not suit loses more than who is not."""
MAX_HONOURED = 64


def fit_of(
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    statements: Sequence[Statement],
    *,
    privacy: Privacy,
    asks: bool = False,
) -> Fit | None:
    """How well a list suits a person; None where nothing is known of what they do not want, and nothing is asked.

    Where a person never refused anything, nothing is claimed: every chance is 1, but for what they said.
    """
    if not items or (skill.beliefs is None and not statements and not asks):
        return None
    known = Known.of(skill, statements)
    listed = candidates(items, known)
    if skill.beliefs is None:
        chances = [each.told for each in listed]
        nothing = 1.0 - max(chances)
    else:
        power = power_of(skill.beliefs)
        chances = [chance(each, power) for each in listed]
        nothing = none_suits(listed, power)
    return Fit(
        chances=tuple(round(each, 4) for each in chances),
        nothing=round(nothing, 4),
        suits=max(chances) >= SUITS,
        against={item.item_id: said[0].statement_id for item in items if (said := known.against(item))},
        honoured=tuple(dict.fromkeys(said.statement_id for said in known.used(items, statements)))[:MAX_HONOURED],
        question=question_of(items, skill, statements, privacy) if asks else None,
    )
