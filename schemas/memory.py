"""The user-item graph, partitioned so that each part is written in one place (paper 2.2, Algorithm 1 line 11).

A user's `Memory` is what they took: the paper's M_u, apart from the skill. A `Touch` tells items who took them. An
`ItemMemory` holds an item's takers, the paper's M_i, each under a pseudonym; every worker reads all of them, and
reckons for a ranking what a user's items have to say. All are bounded (invariant 4).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from .base import Model, is_nothing
from .fields import AttributeId, DomainField, Identifier, ItemIdField, Title, UserIdField, UtcDatetime
from .items import Fact
from .skills import Position

MAX_TAKEN = 20
MAX_NEWEST = 13
MAX_OTHERS = 32
MAX_TAKERS = 32
MAX_CROWD = 12
MAX_COMPANIONS = 48
MAX_TASTES = 6
MAX_MEMORY_FACTS = 8
MAX_SEEN = 128
MAX_DAYS = 20

Count = Annotated[int, Field(ge=0)]
Pseudonym = Annotated[str, Field(pattern=r"^user:[0-9a-f]{4}\.[0-9a-f]{24}$")]
"""Under which others meet a user: a mark of the deployment's secret, and a digest of the user's id with it."""
Version = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
Times = Annotated[int, Field(ge=1, lt=2**32, strict=True)]
Days = Annotated[int, Field(ge=0, le=MAX_DAYS, strict=True)]
Degree = Annotated[int, Field(ge=0, lt=2**16, strict=True)]


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
    days: Count = Field(default=0, description="On how many different days (UTC) Kafka logged a choice of theirs.")
    taken: tuple[Taken, ...] = Field(default=(), max_length=MAX_TAKEN)
    seen: tuple[Fact, ...] = Field(
        default=(),
        max_length=MAX_SEEN,
        exclude_if=is_nothing,
        description="Facts of the lists that they took something from, newest last: their own words can name them.",
    )
    recent: tuple[Identifier, ...] = Field(
        default=(), max_length=32, description="Ids of the last events that it applied."
    )
    applied: tuple[Position, ...] = Field(default=(), max_length=4)


class Touched(Model):
    """An item that hears of a choice: when this user last took it, and how often."""

    item_id: ItemIdField
    at: UtcDatetime
    times: Times = 1


class Touch(Model):
    """Tells items of one partition about one of their takers, as of a version of that user's memory.

    It is a state, so that a repeat changes nothing. With `forgotten`, it tells all items of the partition to drop them.
    """

    TOPIC: ClassVar[str] = "item-touches"

    domain: DomainField
    taker: Pseudonym
    version: Version = Field(description="The version of the user's memory.")
    degree: Degree = Field(description="How many items the user has in memory.")
    days: Days = Field(
        default=1, description="On how many different days Kafka logged a choice of theirs, as far as it counts."
    )
    newest: tuple[ItemIdField, ...] = Field(
        default=(), max_length=MAX_NEWEST, description="The user's newest items, the newest first."
    )
    tastes: tuple[AttributeId, ...] = Field(default=(), max_length=MAX_TASTES, description="What they take most often.")
    items: tuple[Touched, ...] = Field(default=(), max_length=MAX_TAKEN, description="The items that are to hear.")
    forgotten: Identifier | None = Field(
        default=None, description="Every item of this partition drops the taker; names the request, for its answer."
    )
    every_domain: bool = Field(default=False, description="In all domains, not only in this one.")


@dataclass(frozen=True, slots=True)
class Taker:
    """One of an item's takers, as of a version of their memory.

    Attributes:
        neighbour: their pseudonym.
        version: of the user's memory.
        at: when the user last took the item.
        times: how often.
        degree: how many items the user has in memory.
        others: their other items that the item has heard of, those of the newest hearing first.
        tastes: what they take most often.
        days: on how many different days they took something, as far as it counts.
    """

    neighbour: Pseudonym
    version: Version
    at: UtcDatetime
    times: Times
    degree: Degree
    others: Annotated[tuple[ItemIdField, ...], Field(max_length=MAX_OTHERS)] = ()
    tastes: Annotated[tuple[AttributeId, ...], Field(max_length=MAX_TASTES)] = ()
    days: Days = 1


class ItemMemory(Model):
    """M_i: a sample of an item's takers, newest last. Its records are packed: `streams.kafka.packed_items` says how."""

    TOPIC: ClassVar[str] = "item-memories"

    domain: DomainField
    item_id: ItemIdField
    epoch: Annotated[int, Field(ge=0, lt=2**32)] = Field(default=0, description="Counts what changed it.")
    takers: tuple[Taker, ...] = Field(default=(), max_length=MAX_TAKERS)
