"""Measures how much a parser finds and how much skills differ, to reveal the paper's silent failure (App. E.1).

There, a parser for one domain read another's items, found nothing, and gave every user the same empty template.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas import Attribute, Fact, Tier

MOST = 0.5
"""If more than this share of users have the same skill or none, the parser is the wrong one."""


@dataclass(frozen=True)
class DimensionCoverage:
    """One dimension: the share of items with a fact, of users with an attribute, and of users with a sure one."""

    dimension: str
    items: float
    users: float
    users_sure: float


@dataclass(frozen=True)
class Coverage:
    """What a parser finds in a data set, and the priors that follow.

    Attributes:
        items, users: how many there are.
        dimensions: those that items or skills have, the best covered items first.
        items_read: share of items with any fact.
        distinct_skills: how many different skills there are, by the ids and tiers of their lines; the empty one too.
        identical: share of users with the most common skill, if at least two have it; the empty one too.
        empty: share of users without a line.
        same: share of users with the most common skill or none.
        mean_lines: lines per user.
    """

    items: int
    users: int
    dimensions: tuple[DimensionCoverage, ...]
    items_read: float
    distinct_skills: int
    identical: float
    empty: float
    same: float
    mean_lines: float

    @property
    def tells_users_apart(self) -> bool:
        """Whether at most half of the users have no skill of their own; False without users."""
        return self.users > 0 and self.same <= MOST


def coverage(items: Iterable[Sequence[Fact]], priors: Iterable[Sequence[Attribute]]) -> Coverage:
    """Counts over all items' facts and all users' priors, each looked at once.

    >>> found = coverage([[Fact(dimension="genre", value="noir")], []], [[], [], []])
    >>> found.items_read, found.identical, found.tells_users_apart
    (0.5, 1.0, False)
    """
    n_items = read = 0
    with_fact: Counter[str] = Counter()
    for facts in items:
        n_items += 1
        read += bool(facts)
        with_fact.update({fact.dimension for fact in facts})
    n_users = lines = 0
    holders: Counter[str] = Counter()
    sure: Counter[str] = Counter()
    skills: Counter[frozenset[tuple[str, Tier]]] = Counter()
    for prior in priors:
        n_users += 1
        lines += len(prior)
        holders.update({line.dimension for line in prior})
        sure.update({line.dimension for line in prior if line.tier >= Tier.MEDIUM})
        skills[frozenset((line.attribute_id, line.tier) for line in prior)] += 1
    most = max(skills.values(), default=0)
    empty = skills.get(frozenset(), 0)
    identical = most if most > 1 else 0
    common = max((times for skill, times in skills.items() if skill), default=0)
    per_dimension = [
        DimensionCoverage(d, _share(with_fact[d], n_items), _share(holders[d], n_users), _share(sure[d], n_users))
        for d in with_fact.keys() | holders.keys()
    ]
    return Coverage(
        items=n_items,
        users=n_users,
        dimensions=tuple(sorted(per_dimension, key=lambda d: (-d.items, -d.users, d.dimension))),
        items_read=_share(read, n_items),
        distinct_skills=len(skills),
        identical=_share(identical, n_users),
        empty=_share(empty, n_users),
        same=_share(empty + (common if common > 1 else 0), n_users),
        mean_lines=lines / n_users if n_users else 0.0,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
