"""Simulated users with a known way to decide, and users who choose blindly."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

from operators.attributes import ranked_lines
from operators.evolve.proposals import CountsReasoner
from operators.habit_directions import DIRECTION_OF, Direction
from operators.learning.questions import Sides, TasteHistory, sides_of_items
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.prior import SkillStart
from schemas import Attribute, Contrast, Fact, ItemFacts, PolicySkill
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_STEP, _START, _REASONER = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE), SkillStart(privacy=PRIVACY), CountsReasoner()


class User:
    """Someone who begins without a history.

    Attributes:
        skill: what was learned of them; None before the first choice.
    """

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self.skill: PolicySkill | None = None

    @property
    def habits(self) -> dict[str, Attribute]:
        lines = () if self.skill is None else ranked_lines(self.skill)
        return {line.attribute_id: line for line in lines if line.attribute_id in DIRECTION_OF}

    def sides(self, items: Sequence[ItemFacts]) -> Sides:
        before = TasteHistory() if self.skill is None else TasteHistory.of(ranked_lines(self.skill), self.skill.items)
        return sides_of_items(items, before, INSTRUCTION)

    def takes(self, items: Sequence[ItemFacts], place: int) -> None:
        version = 0 if self.skill is None else self.skill.version
        contrast = Contrast(
            event_id=f"choice-{version}",
            occurred_at=_NOW,
            user_id="user",
            domain=self._domain,
            ranking_id=f"ranking-{version}",
            instruction=INSTRUCTION,
            chosen=items[place],
            chosen_rank=place + 1,
            unchosen=tuple(item for n, item in reversed(list(enumerate(items))) if n != place),
        )
        skill = self.skill or _START.skill("user", self._domain, contrast, None)
        answer = _REASONER.propose(contrast, skill)
        self.skill = _STEP.finish(EvolveState(skill), contrast, answer).skill


SHOWN = 10
MOST = 120
"""A habit that is not found after so many choices counts as not found."""
NOISE = 0.2
"""The share of choices that are made blindly."""
INSTRUCTION = "gothic, noir or satire"


_GENRES = (*(f"genre {n}" for n in range(9)), "gothic", "noir", "satire")
_SETS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "books": {"genre": (12, 2), "mood": (7, 2), "author": (60, 1), "keyword": (12, 1)},
    "films": {"genre": (12, 2), "director": (60, 1), "actor": (12, 1), "qualifier": (12, 1), "country": (9, 1)},
    "places": {"category": (8, 1), "city": (12, 1), "area": (12, 1), "ambience": (9, 1), "meal": (6, 1)},
    "shop": {"category": (8, 1), "brand": (60, 1), "type": (9, 1), "tag": (12, 1), "feature": (9, 2)},
    "music": {"artist": (60, 1), "tag": (12, 1), "language": (6, 1), "type": (9, 1)},
    "recipes": {"cuisine": (9, 1), "feature": (9, 2), "language": (6, 1), "tag": (12, 1)},
}
"""Made-up catalogues: of every dimension how many values there are, and how many an item has."""


def set_of(pole: Direction) -> str:
    """The catalogue in which a habit can be seen."""
    dimension = pole.axis.partition("_")[2]
    return next((name for name, dimensions in _SETS.items() if dimension in dimensions), "books")


@cache
def _catalogue(name: str) -> Mapping[str, ItemFacts]:
    rng = random.Random(name)
    values = {
        dimension: _GENRES if dimension == "genre" else [f"{dimension} {n}" for n in range(many)]
        for dimension, (many, _) in _SETS[name].items()
    }
    items = (
        ItemFacts(
            item_id=f"{name}-{n}",
            facts=tuple(
                Fact(dimension=dimension, value=value)
                for dimension, (_, few) in _SETS[name].items()
                for value in rng.sample(values[dimension], few)
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
        for n in range(400)
    )
    return {item.item_id: item for item in items}


def shown(rng: random.Random, name: str, taken: Sequence[str]) -> list[ItemFacts]:
    """A list of the catalogue: drawn blindly, four of its items taken before, where there are so many."""
    items = _catalogue(name)
    known = rng.sample(sorted(set(taken)), min(4, len(set(taken))))
    drawn = dict.fromkeys([*known, *rng.sample(sorted(items), SHOWN)])
    found = [items[item_id] for item_id in drawn][:SHOWN]
    rng.shuffle(found)
    return found


Choose = Callable[[random.Random, Sides, int], int]
"""Takes a place of a list, given where its items stand and how many there are."""


def blindly(rng: random.Random, _sides: Sides, size: int) -> int:
    return rng.randrange(size)


def by_habit(pole: Direction) -> Choose:
    """Any item on one side of an axis; a share of the times, and where the list has none, any item at all."""

    def choose(rng: random.Random, sides: Sides, size: int) -> int:
        row = sides.get(pole.axis, ())
        fitting = [place for place, side in enumerate(row) if side is pole.up]
        if not fitting or rng.random() < NOISE:
            return rng.randrange(size)
        return rng.choice(fitting)

    return choose


def play(choose: Choose, name: str, choices: int, seed: int) -> Iterator[User]:
    rng, user, taken = random.Random(f"{name}/{seed}"), User("planted"), list[str]()
    for _ in range(choices):
        items = shown(rng, name, taken[-20:])
        place = choose(rng, user.sides(items), len(items))
        user.takes(items, place)
        taken.append(items[place].item_id)
        yield user


def found_after(pole: Direction, seed: int) -> int | None:
    """How many choices a user with this habit makes until it is a line; None: more than `MOST`."""
    users = play(by_habit(pole), set_of(pole), MOST, seed)
    return next((number for number, user in enumerate(users, 1) if pole.attribute_id in user.habits), None)


def ever_found(seed: int, choices: int = 200) -> frozenset[str]:
    """The habits that were lines at any time of somebody who chooses blindly, from one catalogue or the other."""
    name = list(_SETS)[seed % len(_SETS)]
    return frozenset(name for user in play(blindly, name, choices, seed) for name in user.habits)
