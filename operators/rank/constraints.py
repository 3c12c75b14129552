"""The person's statements about candidates: avoided ones last, preferred ones first."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from operators.stated import statements_for
from schemas import Fit, ItemFacts, Scope, Statement

# Weight of the log chance that a candidate suits: it must outweigh tastes.
SUITS_WEIGHT = 4.0
_LEAST = 0.001
# Most specific first: a statement for now overrides one for the session, and that a lasting one.
_SCOPES = (Scope.NOW, Scope.SESSION, Scope.ALWAYS)


@dataclass(frozen=True)
class Constraints:
    """The person's statements, applied to one list.

    `prefers` has sort keys by item id, `suits` the summand for the chance that a candidate suits.
    """

    against: frozenset[str] = frozenset()
    prefers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    suits: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, items: Sequence[ItemFacts], statements: Sequence[Statement], fit: Fit | None) -> "Constraints":
        """Apply live, certain statements, and the fit of these candidates in this order."""
        if fit is None and not statements:
            return NO_CONSTRAINTS
        chances = fit.chances if fit is not None else (1.0,) * len(items)
        preferred: dict[str, tuple[int, ...]] = {item.item_id: _preference(item, statements) for item in items}
        suits = [SUITS_WEIGHT * math.log(max(chance, _LEAST)) for chance in chances]
        return cls(
            frozenset(fit.against) if fit is not None else frozenset(),
            preferred if len(set(preferred.values())) > 1 else {},
            dict(zip((item.item_id for item in items), suits, strict=True)),
        )

    @property
    def decides(self) -> bool:
        """True if the statements distinguish candidates."""
        return bool(self.against or self.prefers) or len(set(self.suits.values())) > 1

    def first(self, item_id: str) -> tuple[int, ...]:
        """Return the candidate's sort key by stated preferences; the least comes first."""
        return tuple(-part for part in self.prefers.get(item_id, ()))

    def apply(self, order: Sequence[str], instructed: Callable[[str], float]) -> tuple[str, ...]:
        """Sort a model's order: avoided candidates last, preferred ones first."""

        def key(item_id: str) -> tuple[bool, float, tuple[int, ...]]:
            is_against = item_id in self.against
            return (is_against, -instructed(item_id), self.first(item_id)) if self.prefers else (is_against, 0.0, ())

        return tuple(sorted(order, key=key))


NO_CONSTRAINTS = Constraints()


def _preference(item: ItemFacts, statements: Sequence[Statement]) -> tuple[int, ...]:
    """Count statements for and against a candidate by scope; the newest breaks ties."""
    spoken = statements_for(item, statements)
    by_scope = [sum(sign for said, sign in spoken if said.scope is scope) for scope in _SCOPES]
    return (*by_scope, max((said.since for said, sign in spoken if sign > 0), default=0))
