"""Simulated users with a known way to decide, and users who choose blindly."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from benchmarks.habits.user import User
from operators.habits import Pole, Sides
from schemas import Fact, ItemFacts

SHOWN = 10
NOISE = 0.2
"""The share of choices that are made blindly."""
INSTRUCTION = "gothic, noir or satire"


@cache
def _catalogue(size: int = 400, seed: int = 7) -> tuple[ItemFacts, ...]:
    rng = random.Random(seed)
    genres = [*(f"genre {n}" for n in range(9)), "gothic", "noir", "satire"]
    facts = {
        "genre": (genres, 2),
        "category": ([f"category {n}" for n in range(20)], 2),
        "mood": ([f"mood {n}" for n in range(7)], 2),
        "author": ([f"Author {n}" for n in range(60)], 1),
        "director": ([f"Director {n}" for n in range(60)], 1),
        "artist": ([f"Artist {n}" for n in range(60)], 1),
        "brand": ([f"Brand {n}" for n in range(60)], 1),
    }
    for dimension in ("keyword", "qualifier", "actor", "city", "area", "country", "ambience", "meal"):
        facts[dimension] = ([f"{dimension} {n}" for n in range(12)], 1)
    for dimension in ("cuisine", "type", "tag", "language", "feature"):
        facts[dimension] = ([f"{dimension} {n}" for n in range(9)], 1)
    return tuple(
        ItemFacts(
            item_id=f"item-{n}",
            facts=tuple(
                Fact(dimension=dimension, value=value)
                for dimension, (values, few) in facts.items()
                for value in rng.sample(values, few)
            ),
            measures={
                "price": float(rng.randint(1, 4)),
                "year": float(rng.randint(1950, 2025)),
                "rating": round(rng.uniform(1, 5), 1),
                "popularity": float(int(rng.lognormvariate(5, 2))),
                "distance": round(rng.expovariate(0.2), 1),
                "length": float(rng.randint(60, 200)),
            },
        )
        for n in range(size)
    )


def shown(rng: random.Random, taken: Sequence[str]) -> list[ItemFacts]:
    """A list of the catalogue: drawn blindly, four of its items taken before, where there are so many."""
    drawn = {item.item_id: item for item in rng.sample(_catalogue(), SHOWN)}
    by_id = {item.item_id: item for item in _catalogue()}
    known = rng.sample(sorted(set(taken)), min(4, len(set(taken))))
    found = list({**{name: by_id[name] for name in known}, **drawn}.values())[:SHOWN]
    rng.shuffle(found)
    return found


Choose = Callable[[random.Random, Sides, int], int]
"""Takes a place of a list, given where its items stand and how many there are."""


def blindly(rng: random.Random, _sides: Sides, size: int) -> int:
    """Any item of the list."""
    return rng.randrange(size)


def by_habit(pole: Pole, noise: float = NOISE) -> Choose:
    """Any item on one side of an axis; a share of the times, and where the list has none, any item at all."""

    def choose(rng: random.Random, sides: Sides, size: int) -> int:
        row = sides.get(pole.axis, ())
        fitting = [place for place, side in enumerate(row) if side is pole.up]
        if not fitting or rng.random() < noise:
            return rng.randrange(size)
        return rng.choice(fitting)

    return choose


def play(choose: Choose, choices: int, seed: int, instruction: str = INSTRUCTION) -> Iterator[User]:
    """The user after each choice."""
    rng, user, taken = random.Random(seed), User("planted"), list[str]()
    for _ in range(choices):
        items = shown(rng, taken[-20:])
        place = choose(rng, user.sides(items, instruction), len(items))
        user.takes(items, place, instruction)
        taken.append(items[place].item_id)
        yield user


def found_after(pole: Pole, seed: int, most: int = 120) -> int | None:
    """How many choices a user with this habit makes until it is a line; None: more than `most`."""
    users = play(by_habit(pole), most, seed)
    return next((number for number, user in enumerate(users, 1) if pole.attribute_id in user.habits), None)


def ever_found(seed: int, choices: int = 200) -> frozenset[str]:
    """The habits that were lines at any time of somebody who chooses blindly."""
    return frozenset(name for user in play(blindly, choices, seed) for name in user.habits)
