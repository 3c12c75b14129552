"""The learning curve: hit rate by the number of a user's contrasts."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.confidence import Comparison, compare, interval

FROM = (0, 1, 2, 3, 5, 9, 17)
"""The first number of contrasts of each bucket; the last one is open-ended."""

Places = Mapping[str, Sequence[int]]
"""By user, the rank of the taken item at each choice, in order: the first after no contrast, the second after one."""


@dataclass(frozen=True, slots=True)
class Point:
    """One bucket of a curve.

    Attributes:
        contrasts_seen: the bucket's first number of contrasts.
        users: the number of users with a choice in it.
        choices: the number of choices.
        hit_at_1: the mean over users of each one's hit rate, so that all users count equally.
        ci95: its 95 % interval, bootstrapped over users.
    """

    contrasts_seen: int
    users: int
    choices: int
    hit_at_1: float
    ci95: tuple[float, float]


def buckets(places: Places) -> dict[int, dict[str, list[int]]]:
    """The ranks by bucket and user.

    >>> buckets({"ann": [2, 1, 1, 3, 1]})
    {0: {'ann': [2]}, 1: {'ann': [1]}, 2: {'ann': [1]}, 3: {'ann': [3, 1]}}
    """
    found: dict[int, dict[str, list[int]]] = {}
    for user_id, of_user in places.items():
        for seen, place in enumerate(of_user):
            start = FROM[bisect_right(FROM, seen) - 1]
            found.setdefault(start, defaultdict(list))[user_id].append(place)
    return {start: dict(found[start]) for start in sorted(found)}


def curve(places: Places, seed: int = 0) -> list[Point]:
    """The points of a curve; a bucket with fewer than two users has none."""
    return [
        Point(
            start,
            len(users),
            sum(map(len, users.values())),
            sum(_hits(users)) / len(users),
            interval(_hits(users), seed),
        )
        for start, users in buckets(places).items()
        if len(users) > 1
    ]


def less(one: Places, other: Places, seed: int = 0) -> dict[int, Comparison]:
    """The difference of two curves over the same choices, by bucket; a bucket with fewer than two users has none.

    Raises:
        ValueError: their users differ.
    """
    others = buckets(other)
    found = {}
    for start, users in buckets(one).items():
        if users.keys() != others.get(start, {}).keys():
            raise ValueError("curves of different users cannot be compared")
        if len(users) > 1:
            against = {user_id: others[start][user_id] for user_id in users}
            found[start] = compare(_hits(users), _hits(against), seed)
    return found


def label(start: int) -> str:
    """A bucket's name.

    >>> [label(start) for start in FROM]
    ['0', '1', '2', '3-4', '5-8', '9-16', '17+']
    """
    after = FROM.index(start) + 1
    if after == len(FROM):
        return f"{start}+"
    return str(start) if FROM[after] == start + 1 else f"{start}-{FROM[after] - 1}"


def _hits(users: Mapping[str, Sequence[int]]) -> list[float]:
    return [sum(place == 1 for place in places) / len(places) for places in users.values()]
