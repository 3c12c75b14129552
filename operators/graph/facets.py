"""Collaborative facets (paper 2.2): attributes that neighbours share, worded by a template."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.attributes import fact_id, normalise
from operators.graph.neighbours import ItemSignal, Neighbourhood
from operators.graph.prune import Neighbour, Neighbours, domain_prune
from operators.language.output_policy import NEAR, OWN, OutputGate, fact_words, trusted_facet_words
from schemas import MAX_SUPPORTERS, Facet, Memory

# More facets would crowd out the candidates in a prompt.
MAX_SHOWN = 7
# Our choice: about 1 in 4 taken items without known users, or nearly all users for
# attributes of items not taken.
CONFIDENCE_FLOOR = 0.15
MAX_COMPANIONS = 512
# Weights of an attribute's shares among the user's items and among neighbouring users.
# A ranker with facets alone ranked the chosen item first less often with more weight on users (MovieLens
# small, popular negatives: 0.23 of 488 with none of it, 0.16 with 0.8); on MovieTV it made no difference. With less
# than this, no facet could name an attribute that the user has not taken.
OWN_SHARE, NEAR_SHARE = 0.7, 0.3
# Added to an item's takers: 3 of 3 takers prove less of a companion than 30 of 30.
SHRINKAGE = 5

_DIGITS = 4


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
    neighbourhood = neighbourhood or Neighbourhood()
    if memory is None or not memory.taken:
        return Retrieved(memory_version=memory.version if memory else 0, graph_epoch=neighbourhood.epoch)
    signals = neighbourhood.signals
    facets = _filtered(propose_facets(domain_prune(memory, neighbourhood, domain, now), signals), gate)
    taken: set[str] = {one.item_id for one in memory.taken} | {signal.item_id for signal in signals}
    companions = co_taken(signals, taken, popularity or {})
    return Retrieved(facets, companions, memory.version, neighbourhood.epoch)


def propose_facets(neighbours: Neighbours, signals: Sequence[ItemSignal]) -> Iterable[Facet]:
    """Yield a facet for every attribute above the confidence floor.

    The confidence is the weighted share of neighbours with the attribute, less up to half for what all takers share,
    times n / (n + 1) for n supporting neighbours.
    """
    items, users = _weights_of(neighbours.items), _weights_of(neighbours.users)
    # If no neighbour's tastes are known, only the items count.
    own_share, near_share = (OWN_SHARE, NEAR_SHARE) if any(u.attributes for u in neighbours.users) else (1.0, 0.0)
    common = _common(signals)
    for attribute_id, words in sorted(_names_of(neighbours).items()):
        own = {i.name: own_share * items[i.name] for i in neighbours.items if attribute_id in i.attributes}
        of_users = {u.name: near_share * users[u.name] for u in neighbours.users if attribute_id in u.attributes}
        support = own | of_users
        share = math.fsum(support.values()) * (1 - common.get(attribute_id, 0.0) / 2)
        confidence = round(min(1.0, share) * len(support) / (len(support) + 1), _DIGITS)
        if confidence >= CONFIDENCE_FLOOR:
            mostly_own = math.fsum(own.values()) >= math.fsum(of_users.values())
            yield Facet(
                facet=f"{OWN if mostly_own else NEAR}{words}",
                confidence=confidence,
                supporting_neighbors=tuple(sorted(support, key=lambda name: (-support[name], name))[:MAX_SUPPORTERS]),
                attribute_id=attribute_id,
            )


def _filtered(proposed: Iterable[Facet], gate: OutputGate) -> tuple[Facet, ...]:
    """Keep the surest facets with allowed, different words (QualityFilter, Algorithm 1)."""
    kept: dict[str, Facet] = {}
    for facet in sorted(proposed, key=lambda one: -one.confidence):
        words = trusted_facet_words(facet, gate)
        if words is not None:
            kept.setdefault(normalise(words), facet.model_copy(update={"facet": words}))
    return tuple(kept.values())[:MAX_SHOWN]


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
    # After decades all scores can be 0; then all neighbours weigh the same.
    return {name: root / total if total else 1 / len(roots) for name, root in roots.items()}


def _common(signals: Sequence[ItemSignal]) -> dict[str, float]:
    """Return the share of all takers that have each attribute."""
    takers = sum(signal.takers for signal in signals)
    supporters: Counter[str] = Counter()
    for taste in (taste for signal in signals for taste in signal.tastes):
        supporters[taste.attribute_id] += taste.supporters
    return {name: min(1.0, count / takers) for name, count in supporters.items() if takers}


def co_taken(signals: Sequence[ItemSignal], taken: set[str], popularity: Mapping[str, int]) -> dict[str, float]:
    """Score how often takers of the user's items took another item.

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
