"""Collaborative facets without a model (paper 2.2): what the neighbours have in common, by a template.

A user with no memory gets nothing: there is nobody to be like.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.attributes import fact_id
from operators.neighbourhood import ItemSignal, Neighbourhood
from operators.retrieve.prune import Neighbours, ScoredItem, ScoredUser, domain_prune
from operators.retrieve.quality import DEFAULT_LIMITS, Reason, RetrieveLimits, quality_filter
from operators.vouch import NEAR, OWN, Vouching, in_words
from schemas import MAX_SUPPORTERS, Facet, Memory

OWN_SHARE, NEAR_SHARE = 0.7, 0.3
"""How an attribute's share among the user's items and its share among the neighbouring users add up.

A ranker that has nothing but the facets found its item first a little less often the more the users count (MovieLens
small, popular negatives: 0.23 of 488 with none of it, 0.16 with 0.8); on MovieTV it made no difference. With less than
this, nothing that the user has not taken could ever be said.
"""
SHRINKAGE = 5
"""Added to an item's takers: 3 of 3 takers say less of a companion than 30 of 30."""

_DIGITS = 4


@dataclass(frozen=True)
class Retrieved:
    """What the graph says about a user, with what it was read from.

    Attributes:
        facets: the lines for a prompt or a ranker, the surest first.
        companions: items that those who took the same took too, 0 to 1; never one that the user took.
        neighbours: who was asked.
        memory_version, graph_epoch: name the graph; the same ones and the same day give the same answer.
        dropped: how many facets the quality filter refused, by reason.
    """

    facets: tuple[Facet, ...] = ()
    companions: Mapping[str, float] = field(default_factory=dict)
    neighbours: Neighbours = field(default_factory=Neighbours)
    memory_version: int = 0
    graph_epoch: int = 0
    dropped: Mapping[Reason, int] = field(default_factory=dict)


def retrieve(
    memory: Memory | None,
    neighbourhood: Neighbourhood | None,
    domain: str,
    now: datetime,
    limits: RetrieveLimits = DEFAULT_LIMITS,
    popularity: Mapping[str, int] | None = None,
    *,
    vouching: Vouching,
) -> Retrieved:
    """Facets and companions for one user, whatever the candidates are."""
    version, epoch = memory.version if memory else 0, neighbourhood.epoch if neighbourhood else 0
    if memory is None or not memory.taken:
        return Retrieved(memory_version=version, graph_epoch=epoch)
    near = neighbourhood or Neighbourhood()
    neighbours = domain_prune(memory, near, domain, now, limits)
    proposed = _propose(neighbours, near.signals, limits)
    facets, dropped = quality_filter(proposed, neighbours.names, limits, vouching=vouching)
    taken: set[str] = {one.item_id for one in memory.taken} | {signal.item_id for signal in near.signals}
    companions = _companions(near.signals, taken, limits.companions, popularity or {})
    return Retrieved(facets, companions, neighbours, version, epoch, dropped)


def _parts(attribute_id: str) -> tuple[str, str]:
    """The dimension and the value of an id, the value in words."""
    _, _, rest = attribute_id.partition(":")
    dimension, _, value = rest.partition(":")
    return dimension, value.replace("-", " ")


def names_of(neighbours: Neighbours, vouching: Vouching | None = None) -> dict[str, str]:
    """The words for each attribute that a neighbour has: an item's own, with their letter case, else the id's.

    With `vouching` only those that may be shown to a model; on how many of these items one was met counts.
    """
    items = [item.taken for item in neighbours.items]
    having = Counter(name for taken in items for name in {fact_id(fact) for fact in taken.facts})
    said = [(fact_id(fact), fact.dimension, fact.value) for taken in items for fact in taken.facts]
    said += [(name, *_parts(name)) for user in neighbours.users for name in sorted(user.attributes)]
    named: dict[str, str] = {}
    for name, dimension, value in said:
        if vouching is None or vouching.held(dimension, value, having[name]) is None:
            named.setdefault(name, in_words(dimension, value))
    return {name: words for name, words in named.items() if words}


def weights_of(neighbours: Sequence[ScoredItem] | Sequence[ScoredUser]) -> dict[str, float]:
    """What each neighbour counts among these; the sum is 1.

    By the square root of the score: rules decay by powers of ten, and one fresh neighbour shall not be the only one.
    """
    roots = {one.neighbour: math.sqrt(one.score) for one in neighbours}
    total = math.fsum(roots.values())
    # All scores can be 0, after decades; then nobody is closer than the others.
    return {name: root / total if total else 1 / len(roots) for name, root in roots.items()}


def _propose(neighbours: Neighbours, signals: Sequence[ItemSignal], limits: RetrieveLimits) -> Iterable[Facet]:
    """A facet for every attribute that is sure enough.

    The confidence is the weighted share of the neighbours who have the attribute, less up to half for what the
    whole crowd has anyway, shrunk while few neighbours support it: by n / (n + 1).
    """
    items, users = weights_of(neighbours.items), weights_of(neighbours.users)
    # Where no user's tastes are known, the items speak alone.
    own_share, near_share = (OWN_SHARE, NEAR_SHARE) if any(u.attributes for u in neighbours.users) else (1.0, 0.0)
    common = _common(signals)
    for attribute_id, words in sorted(names_of(neighbours).items()):
        own = {i.neighbour: own_share * items[i.neighbour] for i in neighbours.items if attribute_id in i.attributes}
        near = {u.neighbour: near_share * users[u.neighbour] for u in neighbours.users if attribute_id in u.attributes}
        support = own | near
        share = math.fsum(support.values()) * (1 - common.get(attribute_id, 0.0) / 2)
        confidence = round(min(1.0, share) * len(support) / (len(support) + 1), _DIGITS)
        if confidence >= limits.confidence_floor:
            mostly_own = math.fsum(own.values()) >= math.fsum(near.values())
            yield Facet(
                facet=f"{OWN if mostly_own else NEAR}{words}",
                confidence=confidence,
                supporting_neighbors=tuple(sorted(support, key=lambda name: (-support[name], name))[:MAX_SUPPORTERS]),
                attribute_id=attribute_id,
            )


def _common(signals: Sequence[ItemSignal]) -> dict[str, float]:
    """The share of all takers of all signals who have an attribute: what nearly all have tells nobody apart."""
    takers = sum(signal.takers for signal in signals)
    supporters: dict[str, int] = {}
    for signal in signals:
        for taste in signal.tastes:
            supporters[taste.attribute_id] = supporters.get(taste.attribute_id, 0) + taste.supporters
    return {name: min(1.0, count / takers) for name, count in supporters.items() if takers}


def _companions(
    signals: Sequence[ItemSignal], taken: set[str], most: int, popularity: Mapping[str, int]
) -> dict[str, float]:
    """How often those who took the same took another item, over all items that have told it; the largest is 1.

    Every item that the user took has its say, not only the neighbours that facets cite: a candidate is rarely the
    companion of more than one or two. An item's count is a cosine where the other's popularity is known, else a share.
    """
    told: dict[str, list[float]] = {}
    for signal in signals:
        for other, count in signal.companions.items():
            if other not in taken and count:
                told.setdefault(other, []).append(_closeness(count, signal.effective, popularity.get(other)))
    sums = {name: math.fsum(parts) for name, parts in told.items()}
    largest = max(sums.values(), default=0.0)
    best = sorted(sums, key=lambda name: (-sums[name], name))[:most]
    shares = {name: round(sums[name] / largest, _DIGITS) for name in best if largest}
    return {name: share for name, share in shares.items() if share}


def _closeness(both: float, takers: float, popularity: int | None) -> float:
    """How close a companion is to an item: of the item's other takers, `both` took it too; `popularity` in all did."""
    both = min(both, takers)
    return both / ((takers if popularity is None else math.sqrt(takers * popularity)) + SHRINKAGE)
