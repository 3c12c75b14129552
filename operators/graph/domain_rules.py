"""MemRec's pruning rules, which score a neighbour by domain (paper 2.2, DomainPrune)."""

# ruff: noqa: PLR2004 - the numbers are the rules

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from operators.statinit import ALIASES


@dataclass(frozen=True)
class PruneSignals:
    """A rule's input for a taken item or another user.

    `metadata` is the overlap with the user's tastes, `co_count` the number of other takers or of shared items, `days`
    the edge's age. Only `generic` reads `degree`, a share of the largest of its kind.
    """

    is_item: bool
    edge: float
    metadata: float
    co_count: int
    similarity: float
    days: float
    degree: float = 0.0


Rule = Callable[[PruneSignals], float]


def books(s: PruneSignals) -> float:
    """Decay slowly; count shared authors and genres most, then popular texts."""
    score = s.edge
    if s.metadata > 0.6:
        score *= 2.5
    if s.co_count > 3:
        score *= 1.8
        if s.similarity > 0.5:
            score *= 1.5
    if s.days > 180:
        score *= math.exp(-0.004 * s.days)
    return score * (1 + (1.2 if s.is_item else 0.8) * s.similarity)


def goodreads(s: PruneSignals) -> float:
    """Count series most; popular books have weak edges but social weight."""
    edge, social, content = s.edge, 1.0, 1 + s.similarity
    if s.co_count > 10:
        social, content = 2.0, 1 + 1.5 * s.similarity
    if s.co_count > 15:
        edge, social = edge * 0.7, social * 1.5
    series = 3.0 if s.metadata > 0.8 else 1.0
    decay = math.exp(-0.002 * s.days) if s.days > 365 else 1.0
    return edge * social * content * series * decay


def movietv(s: PruneSignals) -> float:
    """Decay fast after two months; use metadata where few took it."""
    crowded = s.co_count >= 3
    decay = 1.0 if s.days <= 60 else math.exp((-0.018 if s.days <= 180 else -0.025) * s.days)
    edge = s.edge * (2.5 if crowded else 1.0) * decay * (0.3 if s.days > 365 else 1.0)
    stand_in = 1.0 if crowded else 2.8 * s.metadata
    content = 1 + (1.8 if crowded else 1.5) * s.similarity
    return (edge + stand_in) * content * (1.5 if s.metadata > 0.6 else 1.0)


def yelp(s: PruneSignals) -> float:
    """Require the same categories and city; decay fastest."""
    score = s.edge * (2.0 if s.co_count >= 2 else 0.5)
    if s.metadata > 0.85:
        score *= 4.5
    elif s.metadata > 0.7:
        score *= 3.5
    elif s.metadata < 0.4:
        score *= 0.2
    score *= 1 + (2.2 if s.metadata > 0.7 else 1.0) * s.similarity
    if s.days > 90:
        score *= math.exp(-0.028 * s.days)
    return score * (0.5 if s.days > 180 else 1.0)


def generic(s: PruneSignals) -> float:
    """Score by recency and popularity, users at half weight."""
    if s.is_item:
        return 0.5 * s.edge + 0.3 * s.degree
    return 0.5 * (0.7 * s.edge + 0.3 * s.degree)


# `goodreads` shares the parser of `books` but has its own rule.
RULES: Final[Mapping[str, Rule]] = {rule.__name__: rule for rule in (books, goodreads, movietv, yelp, generic)}


def rule_for(domain: str) -> Rule:
    """Return a domain's rule, by name or by its parser's alias.

    >>> rule_for("goodreads") is goodreads, rule_for("films") is movietv, rule_for("recipes") is generic
    (True, True, True)
    """
    return RULES.get(domain) or RULES.get(ALIASES.get(domain, domain), generic)
