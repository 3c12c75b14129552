"""The user-item graph, partitioned so that each part lives where it is used (paper 2.2, Algorithm 1 line 11).

A user's `Memory` is what they took: the paper's M_u, apart from the skill. A `Touch` tells an item who took it.
An `ItemMemory` holds an item's takers, the paper's M_i. An `ItemSignal` carries aggregates over them, each supported
by several users, back to one user. A `Neighbourhood` is what that user has received.
All are bounded (invariant 4).
"""

from typing import Annotated, ClassVar

from pydantic import Field

from .base import Model
from .facets import Neighbour
from .fields import AttributeId, DomainField, Identifier, ItemIdField, Title, UserIdField, UtcDatetime
from .items import Fact
from .skills import Position

MAX_TAKEN = 20
MAX_OTHERS = 12
MAX_TAKERS = 32
MAX_SIGNALS = 20
MAX_CROWD = 12
MAX_COMPANIONS = 48
MAX_TASTES = 6
MAX_MEMORY_FACTS = 8

Count = Annotated[int, Field(ge=0)]


class Taken(Model):
    """An item in a user's memory: what it is, when it was last taken and how often."""

    item_id: ItemIdField
    title: Title = ""
    facts: tuple[Fact, ...] = Field(default=(), max_length=MAX_MEMORY_FACTS)
    at: UtcDatetime
    times: int = Field(default=1, ge=1)


class Memory(Model):
    """M_u: what one user took in one domain, newest last. It changes with every choice and holds no policy."""

    TOPIC: ClassVar[str] = "memories"

    user_id: UserIdField
    domain: DomainField
    version: Count = 0
    interactions: Count = Field(default=0, description="Everything taken, including what the ring has dropped.")
    taken: tuple[Taken, ...] = Field(default=(), max_length=MAX_TAKEN)
    recent: tuple[Identifier, ...] = Field(
        default=(), max_length=32, description="Ids of the last events that it applied."
    )
    applied: tuple[Position, ...] = Field(default=(), max_length=4)


class Taker(Model):
    """One of an item's takers, as of a version of their memory: a state, so that a repeat changes nothing."""

    user_id: UserIdField
    version: Count = Field(description="The version of the user's memory.")
    at: UtcDatetime = Field(description="When the user last took the item.")
    times: int = Field(default=1, ge=1)
    degree: Count = Field(description="How many items the user has in memory.")
    others: tuple[ItemIdField, ...] = Field(default=(), max_length=MAX_OTHERS, description="Their newest other items.")
    tastes: tuple[AttributeId, ...] = Field(default=(), max_length=MAX_TASTES, description="What they take most often.")


class Touch(Model):
    """Tells an item about one of its takers; with `forgotten`, tells all items of a partition to drop that taker."""

    TOPIC: ClassVar[str] = "item-touches"

    domain: DomainField
    item_id: ItemIdField
    taker: Taker
    forgotten: bool = Field(
        default=False, description="Every item of this partition drops the taker; the item is arbitrary."
    )
    every_domain: bool = Field(default=False, description="In all domains, not only in this one.")


class ItemMemory(Model):
    """M_i: an item's takers, newest last."""

    TOPIC: ClassVar[str] = "item-memories"

    domain: DomainField
    item_id: ItemIdField
    epoch: Count = Field(default=0, description="Counts the touches that changed it.")
    told: Count = Field(default=0, description="The epoch at which takers other than the newest were last told.")
    takers: tuple[Taker, ...] = Field(default=(), max_length=MAX_TAKERS)


class Crowd(Model):
    """One of an item's takers as another user sees them: a pseudonym and two figures, none of their words."""

    neighbour: Neighbour
    degree: Count
    at: UtcDatetime


class Taste(Model):
    """An attribute that several takers of an item share, with their pseudonyms."""

    attribute_id: AttributeId
    supporters: Count
    neighbours: tuple[Neighbour, ...] = Field(default=(), max_length=MAX_CROWD)


class ItemSignal(Model):
    """What an item's takers have in common, sent to one of them.

    At least `SAGER_SUPPORT_FLOOR` other users support each companion and taste. The crowd are pseudonyms with a day and
    a count, by which a worker weighs neighbours; they never leave the worker.
    """

    TOPIC: ClassVar[str] = "item-signals"

    user_id: UserIdField
    domain: DomainField
    item_id: ItemIdField
    epoch: Count
    takers: Count
    crowd: tuple[Crowd, ...] = Field(default=(), max_length=MAX_CROWD)
    companions: dict[ItemIdField, Count] = Field(
        default_factory=dict,
        max_length=MAX_COMPANIONS,
        description="Other items, with how many of the takers took them.",
    )
    tastes: tuple[Taste, ...] = Field(default=(), max_length=MAX_TASTES)
    forgotten: bool = Field(default=False, description="Every neighbourhood of this partition drops this user.")
    every_domain: bool = Field(default=False, description="In all domains, not only in this one.")


class Neighbourhood(Model):
    """What a user received from the items they took: the newest signal per item."""

    TOPIC: ClassVar[str] = "neighbourhoods"

    user_id: UserIdField
    domain: DomainField
    epoch: Count = Field(
        default=0, description="Counts its changes; together with the memory's version it identifies a graph."
    )
    signals: tuple[ItemSignal, ...] = Field(default=(), max_length=MAX_SIGNALS)
