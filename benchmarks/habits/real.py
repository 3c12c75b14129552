"""Which habits the users of a data set have: their visits replayed as choices among ten."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.habits.planted import User
from evaluation.draw import NEGATIVES, Negatives, Pool, chance, sample, shuffled
from operators.statinit.parsers import facts_of, parser_for
from schemas import ItemFacts
from streams.importers import load

LEAST_CHOICES = 20
MOST_CHOICES = 60


@dataclass(frozen=True)
class Found:
    """What was found on a data set.

    Attributes:
        users: how many users there were.
        choices: how many choices they made.
        last: by attribute id, how many users had the habit after their last choice.
        ever: by attribute id, how many had it at any time.
        any: how many users had any habit after their last choice.
    """

    users: int
    choices: int
    last: Counter[str]
    ever: Counter[str]
    any: int


def choices(
    data: Path, kind: Negatives, users: int, seed: int, most: int = MOST_CHOICES
) -> Iterator[tuple[str, Iterator[tuple[list[ItemFacts], int, dict[str, int]]]]]:
    """For each of a sample of users their visits, oldest first, each as a list, the place taken and the popularity."""
    found = load(data)
    parser = parser_for(found.domain, {})
    facts = {item_id: facts_of(item, parser) for item_id, item in found.items.items()}
    met = Counter(item for visits in found.histories.values() for item in {visit.item_id for visit in visits})
    pool = Pool(met, kind)
    long = [user for user, visits in found.histories.items() if len(visits) >= LEAST_CHOICES]
    for user_id in sample(long, users, seed):
        visits = [visit.item_id for visit in found.histories[user_id]]

        def lists(user_id: str = user_id, visits: list[str] = visits) -> Iterator[tuple[list[ItemFacts], int, dict[str, int]]]:
            rng, own = chance(seed, "negatives", user_id), set(visits)
            for number, taken in enumerate(visits[:most]):
                others = pool.draw(rng, NEGATIVES, own)
                if others is None:
                    return
                order = shuffled([taken, *others], seed, f"{user_id}/{number}")
                # How many others took an item: who counts themselves finds that they take what is taken.
                popularity = {item: met[item] - (item in own) for item in order}
                yield [facts[item] for item in order], order.index(taken), popularity

        yield user_id, lists()


def found_in(data: Path, kind: Negatives, users: int, seed: int = 0) -> Found:
    """The habits of a sample of the data set's users with at least 20 visits."""
    last, ever, total, n_users, n_any = Counter[str](), Counter[str](), 0, 0, 0
    for _, lists in choices(data, kind, users, seed):
        user, met = User(), set[str]()
        for items, place, popularity in lists:
            sides = user.sides(items, "", popularity)
            user.takes(items, place, sides)
            met |= user.lines.keys()
            total += 1
        n_users += 1
        n_any += bool(user.lines)
        last.update(user.lines)
        ever.update(met)
    return Found(n_users, total, last, ever, n_any)
