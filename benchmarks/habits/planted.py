"""Simulated users with a known way to decide, and users who choose blindly."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

from operators.attributes import fact_id
from operators.habits import POLES, Before, Pole, fold, learn, lines_of, sides_of
from operators.propagate import with_taken
from schemas import Fact, HabitCounts, ItemFacts, Memory, Tier

SHOWN = 10
NOISE = 0.2
"""The share of choices that are made blindly."""
INSTRUCTION = "gothic, noir or satire"
_FORGET = 16
_LINES = 40
_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class User:
    """What is kept of one user: memory, tastes and habits, as a skill keeps them.

    Attributes:
        memory: what they took.
        tastes: taken and expected by attribute id, the plain rule for lines.
        habits: the counts of all axes.
        lines: the tiers of the habits that are lines.
    """

    memory: Memory | None = None
    tastes: dict[str, tuple[float, float]] = field(default_factory=dict)
    habits: dict[str, HabitCounts] = field(default_factory=dict)
    lines: dict[str, Tier] = field(default_factory=dict)

    def takes(self, items: Sequence[ItemFacts], chosen: int, sides: Mapping[str, Sequence[bool | None]]) -> None:
        """Learn from a choice; `sides` are those of the list before it."""
        self.habits = fold(self.habits, learn(sides, chosen))
        self.lines = {name: sure.tier for name, sure in lines_of(self.habits, self.lines).items()}
        self._like(items, chosen)
        number = 0 if self.memory is None else self.memory.version
        at = _START + timedelta(hours=number)
        self.memory = with_taken(self.memory, "user", "planted", items[chosen], at, str(number))

    def weights(self) -> dict[str, float]:
        """What the lines about tastes count."""
        return {name: max(0.0, math.log((n + 1) / (e + 1))) for name, (n, e) in self.tastes.items()}

    def sides(
        self, items: Sequence[ItemFacts], instruction: str = "", popularity: Mapping[str, int] | None = None
    ) -> Mapping[str, Sequence[bool | None]]:
        """Where the items of a list stand for this user now."""
        return sides_of(items, Before.of(self.memory), instruction, popularity, self.weights())

    def _like(self, items: Sequence[ItemFacts], chosen: int) -> None:
        having: dict[str, int] = {}
        for item in items:
            for name in {fact_id(fact) for fact in item.facts}:
                having[name] = having.get(name, 0) + 1
        mine = {fact_id(fact) for fact in items[chosen].facts}
        for name in mine | self.tastes.keys():
            n, e = self.tastes.get(name, (0.0, 0.0))
            self.tastes[name] = (
                n - n / _FORGET + (name in mine),
                e - e / _FORGET + having.get(name, 0) / len(items),
            )
        kept = sorted(self.tastes, key=lambda name: (-self.tastes[name][0], name))[:_LINES]
        self.tastes = {name: self.tastes[name] for name in kept}


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


def shown(rng: random.Random, user: User, size: int = SHOWN) -> list[ItemFacts]:
    """A list of the catalogue: drawn blindly, four of its items taken before, where there are so many."""
    items = _catalogue()
    again = [] if user.memory is None else [taken.item_id for taken in user.memory.taken]
    drawn = rng.sample(items, size)
    by_id = {item.item_id: item for item in items}
    for name in rng.sample(again, min(4, len(again))):
        if all(item.item_id != name for item in drawn):
            drawn[rng.randrange(size)] = by_id[name]
    return list({item.item_id: item for item in drawn}.values())


Choose = Callable[[random.Random, Mapping[str, Sequence[bool | None]], int], int]


def blindly(rng: random.Random, _: Mapping[str, Sequence[bool | None]], size: int) -> int:
    """Any item of the list."""
    return rng.randrange(size)


def by_habit(pole: Pole, noise: float = NOISE) -> Choose:
    """Any item on one side of an axis; a share of the times, and where the list has none, any item at all."""

    def choose(rng: random.Random, sides: Mapping[str, Sequence[bool | None]], size: int) -> int:
        row = sides.get(pole.axis, ())
        fitting = [place for place, side in enumerate(row) if side is pole.up]
        if not fitting or rng.random() < noise:
            return rng.randrange(size)
        return rng.choice(fitting)

    return choose


def play(choose: Choose, choices: int, seed: int, instruction: str = INSTRUCTION) -> Iterator[User]:
    """The user after each choice."""
    rng, user = random.Random(seed), User()
    for _ in range(choices):
        items = shown(rng, user)
        sides = user.sides(items, instruction)
        user.takes(items, choose(rng, sides, len(items)), sides)
        yield user


def found_after(pole: Pole, seed: int, most: int = 200) -> int | None:
    """How many choices a user with this habit makes until it is a line; None: more than `most`."""
    users = play(by_habit(pole), most, seed)
    return next((number for number, user in enumerate(users, 1) if pole.attribute_id in user.lines), None)


POLES_PLANTED = POLES
