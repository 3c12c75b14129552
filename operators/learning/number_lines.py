"""Lines about numbers, such as `cheaper first`: a view of the evidence on numbers."""

from collections.abc import Iterator, Mapping, Sequence

from operators.attributes import attribute_id
from operators.habit_directions import is_number_line, number_words
from operators.learning.evidence import tier_step
from operators.learning.none_taken import NOTHING
from operators.learning.tiers import proven_tier
from operators.numbers import NO_NUMBERS, Numbers
from operators.weights import number_dimension
from schemas import Attribute, AttributeKind, AttributeSource, Evidence, SkillChange, SkillChangeKind, Tier
from schemas.diffs import NumberSums


def number_line_id(name: str, more: bool) -> str:
    """Return the id of the line that prefers more, or less, of a number; declared words do not change it."""
    return attribute_id(AttributeKind.CRITERION, number_dimension(name), number_words(name, more))


def number_changes(
    lines: Sequence[Attribute],
    sums: NumberSums,
    added: NumberSums,
    weights: Mapping[str, float],
    evidence: Evidence,
    now: int,
    numbers: Numbers = NO_NUMBERS,
) -> Iterator[SkillChange]:
    """Yield the changes of lines about the numbers of a list.

    `sums` are the evidence with that of the choice, `added`; `weights` are those that predicted the choice. A line
    moves by one tier per choice, and rises only if it has won its bet. It falls, and goes at last, if its proof is lost
    or its direction turns; a pinned or stated one stays.
    """
    held = {line.dimension: line for line in lines if is_number_line(line.attribute_id)}
    for name, weight in weights.items():
        if name == NOTHING:
            continue  # how picky a person is distinguishes no items
        dimension = number_dimension(name)
        tier, line = proven_tier(sums.proofs.get(name, 0)), held.get(dimension)
        line_id = number_line_id(name, weight > 0)
        if line is not None:
            if line.pinned or line.source is AttributeSource.STATED:
                continue
            if line.attribute_id != line_id:
                tier = Tier.SILENT
            won = bool(tier) and added.proofs.get(name, 0) > 0
            after = tier_step(line, tier, taken=won, contradicted=True, patience=1)
            if after is None or after is line.tier:
                continue
            if after:
                yield SkillChange.of(line, SkillChangeKind.REINFORCED if won else SkillChangeKind.WEAKENED, after)
            else:
                yield SkillChange.of(line, SkillChangeKind.EVICTED, reason="the last choices do not prove it any more")
        elif tier and weight:
            yield SkillChange.new(
                Attribute(
                    attribute_id=line_id,
                    kind=AttributeKind.CRITERION,
                    dimension=dimension,
                    value=number_words(name, weight > 0, numbers),
                    tier=Tier.LOW,
                    proof=sums.proofs[name],
                    support=1,
                    confirmed_at=now,
                    evidence=(evidence,),
                ),
                SkillChangeKind.DISCOVERED,
            )
