"""The effect of each line of a skill on a choice's place in its list (leave one line out)."""

from collections.abc import Sequence

from operators.evidence import Shown, strength
from operators.rank.weights import DEFAULT_WEIGHTS
from schemas import ONE, Attribute, Kind

_TINY = 1e-9
_PATTERN = Kind.PATTERN


def lifted(lines: Sequence[Attribute], shown: Shown) -> dict[str, int]:
    """Return the places, in 1/1024, by which each line lifted the chosen item, by the skill alone.

    Negative: it pushed it down. Of tied items half stand before it. Lines that move nothing are left out.
    """
    if not shown.left:
        return {}
    shares, of, items = shown.shares, DEFAULT_WEIGHTS.of, (frozenset(shown.taken), *shown.left)
    # In the order of the lines, so that equal items have equal sums.
    worths: dict[str, float] = {}
    scores = [0.0] * len(items)
    for line in lines:
        name = line.attribute_id
        if name in shares and line.tier and line.kind is not _PATTERN:
            worth = of(line.dimension) * strength(line)
            if worth:
                worths[name] = worth
                for place, names in enumerate(items):
                    if name in names:
                        scores[place] += worth
    chosen, *rest = scores
    ahead = [(score - chosen, names) for score, names in zip(rest, shown.left, strict=True)]
    # Without a line that the chosen item has, others come closer; without another, those before it fall back.
    behind = [(lead, names) for lead, names in ahead if lead <= _TINY]
    before = [(lead, names) for lead, names in ahead if lead >= -_TINY]
    found = {}
    for name, worth in worths.items():
        if name in items[0]:
            change = sum([_place(lead + worth) - _place(lead) for lead, names in behind if name not in names])
        else:
            change = sum([_place(lead - worth) - _place(lead) for lead, names in before if name in names])
        if change:
            found[name] = change
    return found


def _place(lead: float) -> int:
    if lead > _TINY:
        return ONE
    return ONE // 2 if lead >= -_TINY else 0
