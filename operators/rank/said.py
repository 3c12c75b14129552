"""What the person said about each candidate: what comes last, and what is wanted more than any count says."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.stated import spoken_for
from schemas import Fit, ItemFacts, Stance, Statement

STATED = 1.0
"""What one statement for a candidate adds to its score: as much as a line that is very sure; said twice, twice that."""
RATHER = 4.0
"""The same for what a person would rather have than something else: more than what is liked in three ways."""
SUITING = 4.0
"""How much the logarithm of the chance that a candidate suits counts: what may not suit is no matter of taste."""
_LEAST = 0.001


@dataclass(frozen=True)
class Said:
    """What the person said, for one list.

    Attributes:
        against: ids of the candidates that they do not want.
        wants: by item id, what is added to a candidate's score.
    """

    against: frozenset[str] = frozenset()
    wants: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, items: Sequence[ItemFacts], statements: Sequence[Statement], fit: Fit | None) -> "Said":
        """What these statements, and what is known of what suits, say.

        Args:
            items: the candidates, parsed.
            statements: those that stand now.
            fit: of these candidates in this order; None where nothing is known of what does not suit.
        """
        if fit is None and not statements:
            return NOTHING
        chances = fit.chances if fit is not None else (1.0,) * len(items)
        wants: dict[str, float] = {
            item.item_id: SUITING * math.log(max(chance, _LEAST)) + _wanted(item, statements)
            for item, chance in zip(items, chances, strict=True)
        }
        return cls(frozenset(fit.against) if fit is not None else frozenset(), wants)

    @property
    def decides(self) -> bool:
        """Whether it tells candidates apart."""
        return bool(self.against) or len(set(self.wants.values())) > 1

    def honoured(self, order: Sequence[str]) -> tuple[str, ...]:
        """An order that somebody else made, with what the person does not want at its end."""
        return tuple(sorted(order, key=self.against.__contains__)) if self.against else tuple(order)


NOTHING = Said()


def _wanted(item: ItemFacts, statements: Sequence[Statement]) -> float:
    return math.fsum(
        sign * (RATHER if sign > 0 and said.stance is Stance.INSTEAD else STATED) * (1.0 + math.log2(said.times))
        for said, sign in spoken_for(item, statements)
    )
