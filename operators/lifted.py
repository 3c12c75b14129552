"""What each line of a skill is worth: where what was taken would have stood without it (leave one line out)."""

from collections.abc import Sequence

from operators.attributes import fact_ids
from operators.evidence import strength
from operators.rank.weights import DEFAULT_WEIGHTS, RankWeights
from schemas import Attribute, Contrast, Kind


def lifted(lines: Sequence[Attribute], contrast: Contrast, weights: RankWeights = DEFAULT_WEIGHTS) -> dict[str, int]:
    """By how many places a line lifted the chosen item in its list, by the skill alone; negative: pushed down.

    Of items that tie, the chosen one stands last: it has to be lifted over them. Lines that move nothing are left out.
    """
    said = {
        line.attribute_id: worth
        for line in lines
        if line.kind is not Kind.PATTERN and (worth := weights.of(line.dimension) * strength(line))
    }
    if not said or not contrast.unchosen:
        return {}
    own = said.keys() & fact_ids(contrast.chosen.facts)
    others = [said.keys() & fact_ids(item.facts) for item in contrast.unchosen]
    chosen = sum(said[name] for name in sorted(own))
    left = [sum(said[name] for name in sorted(names)) for names in others]
    place = sum(score >= chosen - _TINY for score in left)
    found = {}
    for name, worth in said.items():
        mine = chosen - worth * (name in own)
        without = sum(
            score - worth * (name in names) >= mine - _TINY for score, names in zip(left, others, strict=True)
        )
        if without != place:
            found[name] = without - place
    return found


_TINY = 1e-9
