"""What a ranking starts from: the candidates and all that may speak for one of them (paper 2.4, eq. 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas import Facet, ItemFacts
from schemas.events import MAX_CANDIDATES


@dataclass(frozen=True)
class Task:
    """One ranking to be made by a model.

    Attributes:
        items: the candidates, parsed, no id twice.
        instruction: what the user asked for, in their own words.
        facets: what the community says about the user, the surest first.
        companions: per item id, from 0 to 1, how strongly others took it together with what this user took.
        slim_skill: the slim skill's text, as `operators.slim` makes it.
        lately: titles of what the person took lately, newest first; only hosts that rank by titles tell it.
        seed: decides the presentation orders, and between candidates that tie.

    Raises:
        ValueError: more candidates than a rank request may have, or one twice.
    """

    items: Sequence[ItemFacts]
    instruction: str = ""
    facets: Sequence[Facet] = ()
    companions: Mapping[str, float] = field(default_factory=dict)
    slim_skill: str = ""
    lately: Sequence[str] = ()
    seed: str = ""

    def __post_init__(self) -> None:
        if not len({item.item_id for item in self.items}) == len(self.items) <= MAX_CANDIDATES:
            raise ValueError(f"items must be at most {MAX_CANDIDATES} different candidates")
