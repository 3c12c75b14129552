"""Which habits the users of a data set have: their visits replayed as choices among ten."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.habits.user import User
from evaluation.draw import NEGATIVES, Negatives, Pool, chance, sample, shuffled
from operators.statinit.parsers import facts_of, parser_for
from schemas import ItemFacts
from streams.importers import load

LEAST = 20
"""Users with fewer visits are left out."""
MOST = 60
"""Later visits are left out: a few users have thousands."""


@dataclass(frozen=True)
class Found:
    """What was found on a data set.

    Attributes:
        users: how many users there were.
        choices: how many choices they made.
        some: how many users had any habit after their last choice.
        last: by attribute id, how many users had the habit after their last choice.
        ever: by attribute id, how many had it at any time.
    """

    users: int
    choices: int
    some: int
    last: Counter[str]
    ever: Counter[str]


@dataclass(frozen=True)
class Choice:
    """A list of ten, the place of the item that was taken, and how many others took each item."""

    items: list[ItemFacts]
    place: int
    popularity: dict[str, int]


class Visits:
    """The visits of a data set's users, each as a choice from a list of ten.

    Args:
        data: the folder.
        kind: how the nine items beside the taken one are drawn.
        seed: of the draws.
    """

    def __init__(self, data: Path, kind: Negatives, seed: int = 0) -> None:
        found = load(data)
        parser = parser_for(found.domain, {})
        self.domain = found.domain
        self._facts = {item_id: facts_of(item, parser) for item_id, item in found.items.items()}
        self._visits = {user: [visit.item_id for visit in visits] for user, visits in found.histories.items()}
        self._met = Counter(item for visits in self._visits.values() for item in set(visits))
        self._pool, self._seed = Pool(self._met, kind), seed

    def users(self, count: int) -> Sequence[str]:
        """A sample of the users who made enough choices."""
        return sample([user for user, visits in self._visits.items() if len(visits) >= LEAST], count, self._seed)

    def choices(self, user_id: str, most: int = MOST) -> Iterator[Choice]:
        """A user's choices, oldest first."""
        rng, own = chance(self._seed, "negatives", user_id), set(self._visits[user_id])
        for number, taken in enumerate(self._visits[user_id][:most]):
            others = self._pool.draw(rng, NEGATIVES, own)
            if others is None:
                return
            order = shuffled([taken, *others], self._seed, f"{user_id}/{number}")
            # Of others only: who is counted too always takes what is taken.
            popularity = {item: self._met[item] - (item in own) for item in order}
            yield Choice([self._facts[item] for item in order], order.index(taken), popularity)


def found_in(visits: Visits, count: int) -> Found:
    """The habits of a sample of the users."""
    last, ever = Counter[str](), Counter[str]()
    users, total, some = visits.users(count), 0, 0
    for user_id in users:
        user, met = User(visits.domain), set[str]()
        for choice in visits.choices(user_id):
            user.takes(choice.items, choice.place, "", choice.popularity)
            met |= user.habits.keys()
            total += 1
        some += bool(user.habits)
        last.update(user.habits.keys())
        ever.update(met)
    return Found(len(users), total, some, last, ever)
