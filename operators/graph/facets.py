"""Collaborative facets (paper 2.2): attributes that neighbours share, worded by a template."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from operators.attributes import fact_id, normalise
from operators.graph.neighbours import ItemSignal, Neighbourhood
from operators.graph.prune import Neighbour, Neighbours, domain_prune
from operators.language.output_policy import NEAR, OWN, OutputGate, fact_words, trusted_facet_words
from schemas import MAX_SUPPORTERS, Facet, Memory

# Most facets of one user.
MAX_SHOWN = 7
# Ours: about 1 in 4 of the items taken, where nothing is known of the users, or nearly all of the users for what the
# user has not taken.
CONFIDENCE_FLOOR = 0.15
MAX_COMPANIONS = 512
# How an attribute's share among the user's items and its share among the neighbouring users add up.
# A ranker that has nothing but the facets found its item first a little less often the more the users count (MovieLens
# small, popular negatives: 0.23 of 488 with none of it, 0.16 with 0.8); on MovieTV it made no difference. With less
# than this, no facet could name an attribute that the user has not taken.
OWN_SHARE, NEAR_SHARE = 0.7, 0.3
# Added to an item's takers: 3 of 3 takers prove less of a companion than 30 of 30.
SHRINKAGE = 5

_DIGITS = 4


class FacetDropReason(StrEnum):
    """Why a facet was dropped, a metric label (QualityFilter, Algorithm 1 line 5)."""

    # Nothing vouches for its value.
    UNVOUCHED = "unvouched"
    # A facet with more confidence has the same words.
    REPEATED = "repeated"
    TOO_MANY = "too-many"


@dataclass(frozen=True)
class Retrieved:
    """The graph's contribution to a ranking, the surest facets first.

    `companions` are items often taken together with the user's, from 0 to 1, without the user's own. The same
    `memory_version`, `graph_epoch` and day give the same answer.
    """

    facets: tuple[Facet, ...] = ()
    companions: Mapping[str, float] = field(default_factory=dict)
    memory_version: int = 0
    graph_epoch: int = 0
    dropped: Mapping[FacetDropReason, int] = field(default_factory=dict)


def retrieve(
    memory: Memory | None,
    neighbourhood: Neighbourhood | None,
    domain: str,
    now: datetime,
    popularity: Mapping[str, int] | None = None,
    *,
    gate: OutputGate,
) -> Retrieved:
    """Return one user's facets and companions, whatever the candidates are."""
    version, epoch = memory.version if memory else 0, neighbourhood.epoch if neighbourhood else 0
    if memory is None or not memory.taken:
        return Retrieved(memory_version=version, graph_epoch=epoch)
    neighbours_of_user = neighbourhood or Neighbourhood()
    proposed = propose_facets(domain_prune(memory, neighbours_of_user, domain, now), neighbours_of_user.signals)
    facets, dropped = _filtered(proposed, gate)
    taken: set[str] = {one.item_id for one in memory.taken} | {signal.item_id for signal in neighbours_of_user.signals}
    return Retrieved(facets, co_taken(neighbours_of_user.signals, taken, popularity or {}), version, epoch, dropped)


def propose_facets(neighbours: Neighbours, signals: Sequence[ItemSignal]) -> Iterable[Facet]:
    """Yield a facet for every attribute above the confidence floor.

    The confidence is the weighted share of neighbours with the attribute, less up to half for what all takers share,
    times n / (n + 1) for n supporting neighbours.
    """
    items, users = _weights_of(neighbours.items), _weights_of(neighbours.users)
    # Where no user's tastes are known, the items decide alone.
    own_share, near_share = (OWN_SHARE, NEAR_SHARE) if any(u.attributes for u in neighbours.users) else (1.0, 0.0)
    common = _common(signals)
    for attribute_id, words in sorted(_names_of(neighbours).items()):
        own = {i.name: own_share * items[i.name] for i in neighbours.items if attribute_id in i.attributes}
        neighbours_of_user = {
            u.name: near_share * users[u.name] for u in neighbours.users if attribute_id in u.attributes
        }
        support = own | neighbours_of_user
        share = math.fsum(support.values()) * (1 - common.get(attribute_id, 0.0) / 2)
        confidence = round(min(1.0, share) * len(support) / (len(support) + 1), _DIGITS)
        if confidence >= CONFIDENCE_FLOOR:
            mostly_own = math.fsum(own.values()) >= math.fsum(neighbours_of_user.values())
            yield Facet(
                facet=f"{OWN if mostly_own else NEAR}{words}",
                confidence=confidence,
                supporting_neighbors=tuple(sorted(support, key=lambda name: (-support[name], name))[:MAX_SUPPORTERS]),
                attribute_id=attribute_id,
            )


def _filtered(proposed: Iterable[Facet], gate: OutputGate) -> tuple[tuple[Facet, ...], Mapping[FacetDropReason, int]]:
    kept: dict[str, Facet] = {}
    dropped: Counter[FacetDropReason] = Counter()
    for facet in sorted(proposed, key=lambda one: -one.confidence):
        words = trusted_facet_words(facet, gate)
        if words is None:
            dropped[FacetDropReason.UNVOUCHED] += 1
        elif normalise(words) in kept:
            dropped[FacetDropReason.REPEATED] += 1
        elif len(kept) >= MAX_SHOWN:
            dropped[FacetDropReason.TOO_MANY] += 1
        else:
            kept[normalise(words)] = facet.model_copy(update={"facet": words})
    return tuple(kept.values()), dict(dropped)


def _names_of(neighbours: Neighbours) -> dict[str, str]:
    named: dict[str, str] = {}
    for item in neighbours.items:
        for fact in item.facts:
            named.setdefault(fact_id(fact), fact_words(fact.dimension, fact.value))
    for user in neighbours.users:
        for name in sorted(user.attributes):
            _, dimension, value = [*name.split(":", 2), "", ""][:3]
            named.setdefault(name, fact_words(dimension, value.replace("-", " ")))
    return {name: words for name, words in named.items() if words}


def _weights_of(neighbours: Sequence[Neighbour]) -> dict[str, float]:
    roots = {one.name: math.sqrt(one.score) for one in neighbours}
    total = math.fsum(roots.values())
    # All scores can be 0, after decades; then nobody is closer than the others.
    return {name: root / total if total else 1 / len(roots) for name, root in roots.items()}


def _common(signals: Sequence[ItemSignal]) -> dict[str, float]:
    """Return the share of all takers that have each attribute."""
    takers = sum(signal.takers for signal in signals)
    supporters: Counter[str] = Counter()
    for signal in signals:
        for taste in signal.tastes:
            supporters[taste.attribute_id] += taste.supporters
    return {name: min(1.0, count / takers) for name, count in supporters.items() if takers}


def co_taken(signals: Sequence[ItemSignal], taken: set[str], popularity: Mapping[str, int]) -> dict[str, float]:
    """Score how often takers of the user's items took another item; the largest is 1.

    Every taken item counts, because a candidate is rarely the companion of more than two. The score is a cosine where
    the other item's popularity is known, else a share.
    """
    parts: dict[str, list[float]] = {}
    for signal in signals:
        for other, count in signal.companions.items():
            if other not in taken and count:
                both, users = min(count, signal.effective), popularity.get(other)
                size = signal.effective if users is None else math.sqrt(signal.effective * users)
                parts.setdefault(other, []).append(both / (size + SHRINKAGE))
    sums = {name: math.fsum(each) for name, each in parts.items()}
    largest = max(sums.values(), default=0.0)
    best = sorted(sums, key=lambda name: (-sums[name], name))[:MAX_COMPANIONS]
    shares = {name: round(sums[name] / largest, _DIGITS) for name in best if largest}
    return {name: share for name, share in shares.items() if share}
