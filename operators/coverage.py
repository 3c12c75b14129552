"""Measures how much a parser finds and how much skills differ, to reveal the paper's silent failure (App. E.1).

There, a parser for one domain read another's items, found nothing, and gave every user the same empty template.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas import Attribute, Fact

MOST = 0.5
"""If more than this share of users have the same skill or none, the parser is the wrong one."""


@dataclass(frozen=True)
class Coverage:
    """What a parser finds in a data set, and the priors that follow.

    Attributes:
        items, users: how many there are.
        dimensions: by dimension, the share of items with a fact and of users with a line; best covered first.
        items_read: share of items with any fact.
        distinct_skills: how many different skills there are, by the ids and tiers of their lines; the empty one too.
        empty: share of users without a line.
        same: share of users with the most common skill, if at least two have it, or none.
    """

    items: int
    users: int
    dimensions: dict[str, tuple[float, float]]
    items_read: float
    distinct_skills: int
    empty: float
    same: float

    @property
    def tells_users_apart(self) -> bool:
        """True if at least half of the users have a skill of their own; False without users."""
        return self.users > 0 and self.same <= MOST


def coverage(items: Iterable[Sequence[Fact]], priors: Iterable[Sequence[Attribute]]) -> Coverage:
    """Count over all items' facts and all users' priors, each read once.

    >>> found = coverage([[Fact(dimension="genre", value="noir")], []], [[], [], []])
    >>> found.items_read, found.same, found.tells_users_apart
    (0.5, 1.0, False)
    """
    n_items = read = n_users = 0
    with_fact, holders = Counter[str](), Counter[str]()
    skills = Counter[frozenset[tuple[str, int]]]()
    for facts in items:
        n_items += 1
        read += bool(facts)
        with_fact.update({fact.dimension for fact in facts})
    for prior in priors:
        n_users += 1
        holders.update({line.dimension for line in prior})
        skills[frozenset((line.attribute_id, line.tier) for line in prior)] += 1
    distinct, empty = len(skills), skills.pop(frozenset(), 0)
    common = max(skills.values(), default=0)
    per_dimension = {
        name: (_share(with_fact[name], n_items), _share(holders[name], n_users))
        for name in with_fact.keys() | holders.keys()
    }
    return Coverage(
        items=n_items,
        users=n_users,
        dimensions=dict(sorted(per_dimension.items(), key=lambda each: (-each[1][0], -each[1][1], each[0]))),
        items_read=_share(read, n_items),
        distinct_skills=distinct,
        empty=_share(empty, n_users),
        same=_share(empty + (common if common > 1 else 0), n_users),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
