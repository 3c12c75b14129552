"""The effect of each line of a skill on a choice's place in its list (leave one line out)."""

from collections.abc import Sequence

from operators.evidence import Shown, strength
from operators.rank.weights import DEFAULT_WEIGHTS
from schemas import ONE, Attribute, Kind

_TINY = 1e-9


def lifted(lines: Sequence[Attribute], shown: Shown) -> dict[str, int]:
    """Return the places, in 1/1024, by which each line lifted the chosen item, by the skill alone.

    Negative: it pushed it down. Of tied items half stand before it. Lines that move nothing are left out.
    """
    if not shown.left:
        return {}
    said = {
        line.attribute_id: worth
        for line in lines
        if line.attribute_id in shown.shares
        and line.kind is not Kind.PATTERN
        and (worth := DEFAULT_WEIGHTS.of(line.dimension) * strength(line))
    }
    # In the order of the lines, so that equal items have equal sums.
    by_item = [
        [worth if name in names else 0.0 for name, worth in said.items()]
        for names in (frozenset(shown.taken), *shown.left)
    ]
    chosen, *left = map(sum, by_item)
    place = _place(chosen, left)
    found = {}
    for number, name in enumerate(said):
        mine, *theirs = [score - worths[number] for score, worths in zip((chosen, *left), by_item, strict=True)]
        without = _place(mine, theirs)
        if without != place:
            found[name] = without - place
    return found


def _place(score: float, others: Sequence[float]) -> int:
    before = sum([other > score + _TINY for other in others])
    beside = sum([abs(other - score) <= _TINY for other in others])
    return before * ONE + beside * ONE // 2
