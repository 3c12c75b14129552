"""MemRec's frozen pruning rules, which score a neighbour by domain, as pure functions (paper 2.2, DomainPrune)."""

# ruff: noqa: PLR2004 - the numbers are the rules

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from operators.statinit.parsers import ALIASES


@dataclass(frozen=True)
class PruneSignals:
    """The input of the rules, for an item that the user took or another user; all but counts and days from 0 to 1.

    `metadata` is how much of it the user takes most; `co_count`, how many took it, or how many items are shared with
    it; `days`, the age of the edge; `degree`, a share of the largest of its kind, which only `generic` looks at.
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
    """Slow decay; shared authors and genres count most, texts where many took it."""
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
    """As a social network of readers: series count most; what everybody reads has weak edges but social weight."""
    edge, social, content = s.edge, 1.0, 1 + s.similarity
    if s.co_count > 10:
        social, content = 2.0, 1 + 1.5 * s.similarity
    if s.co_count > 15:
        edge, social = edge * 0.7, social * 1.5
    series = 3.0 if s.metadata > 0.8 else 1.0
    decay = math.exp(-0.002 * s.days) if s.days > 365 else 1.0
    return edge * social * content * series * decay


def movietv(s: PruneSignals) -> float:
    """Fast decay after two months; where few took it, the metadata stands in for the crowd."""
    crowded = s.co_count >= 3
    decay = 1.0 if s.days <= 60 else math.exp((-0.018 if s.days <= 180 else -0.025) * s.days)
    edge = s.edge * (2.5 if crowded else 1.0) * decay * (0.3 if s.days > 365 else 1.0)
    stand_in = 1.0 if crowded else 2.8 * s.metadata
    content = 1 + (1.8 if crowded else 1.5) * s.similarity
    return (edge + stand_in) * content * (1.5 if s.metadata > 0.6 else 1.0)


def yelp(s: PruneSignals) -> float:
    """Places: the same categories and city or hardly anything, and the fastest decay."""
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
    """MemRec's rule for other domains: recency and popularity, users at half weight."""
    if s.is_item:
        return 0.5 * s.edge + 0.3 * s.degree
    return 0.5 * (0.7 * s.edge + 0.3 * s.degree)


# `goodreads` is parsed as `books` are, and pruned by a rule of its own.
RULES: Final[Mapping[str, Rule]] = {rule.__name__: rule for rule in (books, goodreads, movietv, yelp, generic)}


def rule_for(domain: str) -> Rule:
    """The rule of a domain: by its name, by the parser that it is an alias of, else the generic one.

    >>> rule_for("goodreads") is goodreads, rule_for("films") is movietv, rule_for("recipes") is generic
    (True, True, True)
    """
    return RULES.get(domain) or RULES.get(ALIASES.get(domain, domain), generic)
