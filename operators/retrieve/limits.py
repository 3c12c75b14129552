"""What can be set about retrieval."""

from dataclasses import dataclass

from schemas import MAX_FACETS


@dataclass(frozen=True)
class RetrieveLimits:
    """How much of the graph is read and said.

    Attributes:
        k: most neighbours.
        min_users, min_items: of them, so many of each kind if there are.
        facets: most facets.
        confidence_floor: a facet under it is dropped. Ours: about 1 in 4 of the items taken, where nothing is known
            of the users, or nearly all of the users for what the user has not taken.
        facet_chars: longest facet, in characters; twice as many in bytes, since rare scripts cost a token per byte.
        companions: most companions.
    """

    k: int = 16
    min_users: int = 4
    min_items: int = 6
    facets: int = 7
    confidence_floor: float = 0.15
    facet_chars: int = 120
    companions: int = 512

    def __post_init__(self) -> None:
        if min(self.min_users, self.min_items, self.facets, self.companions) < 0:
            raise ValueError("limits must not be negative")
        if self.k < self.min_users + self.min_items:
            raise ValueError(f"k must be at least min_users + min_items = {self.min_users + self.min_items}")
        if self.facets > MAX_FACETS:
            raise ValueError(f"facets must be at most {MAX_FACETS}, not {self.facets}")


DEFAULT_LIMITS = RetrieveLimits()
