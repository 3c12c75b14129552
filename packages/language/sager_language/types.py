"""The values that go into this package and come out of it.

Inputs are protocols: any object with these attributes will do, so that an application passes its own models.
"""

# ruff: noqa: D102 - each protocol describes its attributes

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

# The dimension of words that no vocabulary names.
FREE: Final = "stated"
MAX_AMOUNT: Final = 1e9
MAX_QUOTED_CHARS: Final = 200


class Fact(Hashable, Protocol):
    """A value of a vocabulary, such as genre: noir."""

    @property
    def dimension(self) -> str: ...
    @property
    def value(self) -> str: ...


class Value(NamedTuple):
    """A `Fact` of this package's own."""

    dimension: str
    value: str


class Item(Protocol):
    """An item that a person sees."""

    @property
    def item_id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def facts(self) -> Sequence[Fact]: ...
    @property
    def measures(self) -> Mapping[Any, float]: ...


class Turn(Protocol):
    """A turn of a conversation."""

    @property
    def event_id(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def domain(self) -> str | None: ...
    @property
    def stated_at(self) -> datetime: ...


class Line(Protocol):
    """A preference that is known of a person."""

    @property
    def stance(self) -> str: ...
    @property
    def dimension(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def domain(self) -> str | None: ...
    @property
    def words(self) -> str: ...


class Stance(StrEnum):
    """The stance of a person towards a value or an item."""

    PREFERS = "prefers"
    AVOIDS = "avoids"
    # This value rather than that one.
    INSTEAD = "instead"


class Scope(StrEnum):
    """For how long a statement holds."""

    NOW = "now"
    SESSION = "session"
    ALWAYS = "always"


class Measure(StrEnum):
    """A quantity of items that statements can bound."""

    PRICE = "price"
    YEAR = "year"
    RATING = "rating"
    POPULARITY = "popularity"
    DISTANCE = "distance"
    LENGTH = "length"


class Strength(StrEnum):
    """The strength of a statement."""

    SAID = "said"
    IMPLIED = "implied"


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of a measure, exclusive; without a side, the measure does not matter."""

    measure: Measure
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A person's wish about a fact, an item or a bound.

    Attributes:
        stance: the person's attitude.
        dimension: of the fact.
        value: of the fact.
        over: with `INSTEAD`, the value of the same dimension that it replaces.
        item_id: of the item.
        bound: the limit.
        changed: the person states a change of taste.
    """

    stance: Stance
    dimension: str | None = None
    value: str | None = None
    over: str | None = None
    item_id: str | None = None
    bound: Bound | None = None
    changed: bool = False
