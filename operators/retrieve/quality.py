"""QualityFilter (Algorithm 1 line 5): which facets are fit to be shown. The paper leaves it open; this is ours."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from operators.attributes import normalise
from operators.privacy import OFF, Privacy
from operators.vouch import Vouching, worded
from schemas import MAX_FACETS, Facet


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


class Reason(StrEnum):
    """Why a facet was dropped: a closed set, fit for a metric label."""

    EMPTY = "empty"
    """No word in it."""
    PRIVATE = "private"
    """It contains personal data."""
    UNVOUCHED = "unvouched"
    """Nothing vouches for what it says."""
    TOO_LONG = "too-long"
    LOW_CONFIDENCE = "low-confidence"
    NO_NEIGHBOUR = "no-neighbour"
    """It cites no one in the given neighbourhood."""
    REPEATED = "repeated"
    """A facet with more confidence has the same words or names the same attribute."""
    TOO_MANY = "too-many"


def quality_filter(
    facets: Iterable[Facet],
    known_neighbours: Collection[str],
    limits: RetrieveLimits = DEFAULT_LIMITS,
    *,
    vouching: Vouching,
    privacy: Privacy = OFF,
) -> tuple[tuple[Facet, ...], Mapping[Reason, int]]:
    """The facets that may be shown, the surest first, and how many were dropped for which reason. Never raises.

    Of several reasons the first in the order of `Reason` counts. Citations of unknown neighbours are taken out.
    """
    known = frozenset(known_neighbours)
    kept: list[Facet] = []
    dropped: Counter[Reason] = Counter()
    said: set[str] = set()
    spoken_of: set[str] = set()
    for proposed in sorted(facets, key=lambda one: -one.confidence):
        cited = tuple(name for name in dict.fromkeys(proposed.supporting_neighbors) if name in known)
        reason, told = _flaw(proposed, limits, privacy), worded(proposed, vouching)
        if reason is None and told is None:
            reason = Reason.UNVOUCHED
        facet = proposed.model_copy(update={"facet": told or proposed.facet})
        words = normalise(facet.facet)
        if reason is None and not cited:
            reason = Reason.NO_NEIGHBOUR
        if reason is None and (words in said or facet.attribute_id in spoken_of):
            reason = Reason.REPEATED
        if reason is None and len(kept) >= limits.facets:
            reason = Reason.TOO_MANY
        if reason is not None:
            dropped[reason] += 1
            continue
        said.add(words)
        if facet.attribute_id is not None:
            spoken_of.add(facet.attribute_id)
        kept.append(facet.model_copy(update={"supporting_neighbors": cited}))
    return tuple(kept), dict(dropped)


def _flaw(facet: Facet, limits: RetrieveLimits, privacy: Privacy) -> Reason | None:
    if not normalise(facet.facet):
        return Reason.EMPTY
    if privacy.redact(facet.facet, "").found:
        return Reason.PRIVATE
    # Surrogates count as a byte or more: a text that cannot be encoded must not raise here.
    size = len(facet.facet.encode(errors="replace"))
    if len(facet.facet) > limits.facet_chars or size > 2 * limits.facet_chars:
        return Reason.TOO_LONG
    return Reason.LOW_CONFIDENCE if facet.confidence < limits.confidence_floor else None
