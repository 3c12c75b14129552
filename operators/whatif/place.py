"""What a skill is worth at one choice: where it would have put what the user took, among what the user saw."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from operators.outcome import gain
from operators.rank import facet_weights, rank
from schemas import Attribute, Contrast

MEASURES: Final[Mapping[str, Callable[[int], float]]] = {
    "hit_at_1": lambda place: float(place <= 1),
    "hit_at_3": lambda place: float(place <= 3),  # noqa: PLR2004 - as its name says
    "hit_at_5": lambda place: float(place <= 5),  # noqa: PLR2004
    "ndcg_at_5": lambda place: gain(place, at=5),
    "reciprocal_rank": lambda place: 1 / place,
}
"""What a place is worth, by the paper's measures (3.1)."""


def place(contrast: Contrast, lines: Sequence[Attribute]) -> int:
    """The place of the chosen item when these lines rank the contrast's candidates; 1 is the top.

    The deterministic ranker goes by the same instruction and the same facets for any lines. Ties are broken by the
    ranking's id, the same for all who are compared, and favour neither the chosen item nor the order that was shown.
    """
    items = sorted((contrast.chosen, *contrast.unchosen), key=lambda item: item.item_id)
    ranked = rank(items, lines, contrast.instruction, facet_weights(contrast.facets), contrast.ranking_id)
    return 1 + next(n for n, (item, _) in enumerate(ranked) if item.item_id == contrast.chosen.item_id)
