"""The fit of a list: the chance of each candidate, that none suits, and whether it is better to show nothing."""

from collections.abc import Iterator, Sequence

from operators.attributes import fact_ids
from operators.fit.acceptance import candidates, chance, none_suits, power_of
from operators.fit.known import Known
from operators.fit.question import question_of
from operators.privacy import Privacy
from schemas import Fit, ItemFacts, PolicySkill, Statement

SUITS = 0.58
"""Below this chance it is better to show nothing: an unsuitable item costs more than a missed one."""
MAX_HONOURED = 64


def fit_of(
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    statements: Sequence[Statement],
    *,
    privacy: Privacy,
    asks: bool = False,
) -> Fit | None:
    """Compute how well a list suits a person; None without statements or refusals, unless a question is wanted.

    For a person who never refused anything every chance is 1, except for avoided items.
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
        honoured=tuple(dict.fromkeys(_applied(items, statements)))[:MAX_HONOURED],
        question=question_of(items, skill, statements, privacy) if asks else None,
    )


def _applied(items: Sequence[ItemFacts], statements: Sequence[Statement]) -> Iterator[str]:
    """Yield ids of the statements that apply to at least one item."""
    ids = {item.item_id for item in items}
    facts = {name for item in items for name in fact_ids(item.facts)}
    measures = {measure for item in items for measure in item.measures}
    for said in statements:
        is_bound = said.bound is not None and said.bound.measure in measures
        if is_bound or said.attribute_id in facts or said.over in facts or said.item_id in ids:
            yield said.statement_id
