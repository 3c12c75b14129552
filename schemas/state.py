"""The workers' tables: statistics, open rankings, and the user-item graph."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import starmap
from typing import Annotated, Any, TypeVar

from pydantic import Field, GetCoreSchemaHandler, NonNegativeInt
from pydantic_core import CoreSchema, core_schema

from .base import (
    AttributeId,
    DomainField,
    Identifier,
    Instruction,
    ItemIdField,
    Model,
    Position,
    Title,
    UserIdField,
    UtcDatetime,
    is_empty,
)
from .events import MAX_CANDIDATES, MAX_FACETS, Facet, Selection
from .items import Fact, ItemFacts
from .weights import Features

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

# A mark of the deployment's secret, and a digest of the user's id with it.
Pseudonym = Annotated[str, Field(pattern=r"^user:[0-9a-f]{4}\.[0-9a-f]{24}$")]
Version = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
Times = Annotated[int, Field(ge=1, lt=2**32, strict=True)]
Days = Annotated[int, Field(ge=0, le=MAX_DAYS, strict=True)]
Degree = Annotated[int, Field(ge=0, lt=2**16, strict=True)]
Place = Annotated[int, Field(ge=0, lt=2**16)]
_T = TypeVar("_T")
Column = Annotated[tuple[_T, ...], Field(max_length=MAX_TAKERS)]
_BEGINNING, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class TakenItem(Model):
    """An item in a user's memory."""

    item_id: ItemIdField
    title: Title = ""
    facts: tuple[Fact, ...] = Field((), max_length=MAX_MEMORY_FACTS)
    at: UtcDatetime
    times: int = Field(1, ge=1)


class Memory(Model, topic="memories"):
    """M_u: the items that a user took in a domain, newest last.

    `interactions` also counts dropped items; `days` counts days with a choice (UTC, by Kafka's time). `seen` has facts
    of answered lists, which corrections can name.
    """

    user_id: UserIdField
    domain: DomainField
    version: NonNegativeInt = 0
    interactions: NonNegativeInt = 0
    days: NonNegativeInt = 0
    taken: tuple[TakenItem, ...] = Field((), max_length=MAX_TAKEN)
    seen: tuple[Fact, ...] = Field((), max_length=MAX_SEEN, exclude_if=is_empty)
    recent: tuple[Identifier, ...] = Field((), max_length=32)
    applied: tuple[Position, ...] = Field((), max_length=4)


class TouchedItem(Model):
    """An item that receives an update."""

    item_id: ItemIdField
    at: UtcDatetime
    times: Times = 1


class ItemUpdate(Model, topic="item-touches"):
    """Informs items of one partition about one of their takers.

    It is a state, so that a repeat changes nothing. `degree` is the number of items in the user's memory; `newest` are
    the newest of them, newest first. With `forgotten`, the id of a request to forget, all items of the partition drop
    the taker: in this domain, or in every one.
    """

    domain: DomainField
    taker: Pseudonym
    version: Version
    degree: Degree
    days: Days = 1
    newest: tuple[ItemIdField, ...] = Field((), max_length=MAX_NEWEST)
    tastes: tuple[AttributeId, ...] = Field((), max_length=MAX_TASTES)
    items: tuple[TouchedItem, ...] = Field((), max_length=MAX_TAKEN)
    forgotten: Identifier | None = None
    every_domain: bool = False


@dataclass(frozen=True, slots=True)
class Taker:
    """One of an item's takers, as of a version of their memory.

    `others` are the user's other items that the item knows, the newest first; the rest is as in `ItemUpdate`.
    """

    neighbour: Pseudonym
    version: Version
    at: UtcDatetime
    times: Times
    degree: Degree
    others: Annotated[tuple[ItemIdField, ...], Field(max_length=MAX_OTHERS)] = ()
    tastes: Annotated[tuple[AttributeId, ...], Field(max_length=MAX_TASTES)] = ()
    days: Days = 1


class Takers(Model):
    """An item's takers in columns, so that names are written once.

    `at` is in microseconds since 1970. `others` and `tastes` have positions in `names`.
    """

    names: tuple[Annotated[str, Field(min_length=1, max_length=256)], ...] = ()
    neighbour: Column[Pseudonym]
    version: Column[Version]
    at: Column[Annotated[int, Field(ge=0, lt=253_402_300_800_000_000)]]
    times: Column[Times]
    degree: Column[Degree]
    others: Column[Annotated[tuple[Place, ...], Field(max_length=MAX_OTHERS)]]
    tastes: Column[Annotated[tuple[Place, ...], Field(max_length=MAX_TASTES)]]
    days: Column[Days]

    @classmethod
    def of(cls, takers: Sequence[Taker]) -> "Takers":
        """Return these takers in columns."""
        places: dict[str, int] = {}
        columns: dict[str, Any] = {name: [getattr(taker, name) for taker in takers] for name in Taker.__slots__}
        columns["at"] = [(at - _BEGINNING) // _MICROSECOND for at in columns["at"]]
        for column in ("others", "tastes"):
            columns[column] = [
                tuple([places.setdefault(name, len(places)) for name in names]) for names in columns[column]
            ]
        made: dict[str, Any] = {name: tuple(column) for name, column in columns.items()}
        return cls.model_construct(None, names=tuple(places), **made)

    def rows(self) -> tuple[Taker, ...]:
        """Return the takers; ValueError if the columns do not fit."""
        try:
            others, tastes = (
                [tuple([self.names[place] for place in places]) for places in column]
                for column in (self.others, self.tastes)
            )
        except IndexError:
            raise ValueError("a position without a name") from None
        at = [_BEGINNING + timedelta(microseconds=each) for each in self.at]
        columns = self.neighbour, self.version, at, self.times, self.degree, others, tastes, self.days
        return tuple(starmap(Taker, zip(*columns, strict=True)))


class _InColumns:
    """Reads and writes takers in columns, in JSON alone."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        columns = handler.generate_schema(Takers)
        return core_schema.json_or_python_schema(
            core_schema.no_info_after_validator_function(Takers.rows, columns),
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(
                Takers.of, return_schema=columns, when_used="json"
            ),
        )


class ItemMemory(Model, topic="item-memories"):
    """M_i: a sample of an item's takers, newest last."""

    epoch: Annotated[int, Field(ge=0, lt=2**32)] = 0
    domain: DomainField
    item_id: ItemIdField
    takers: Annotated[tuple[Taker, ...], Field(max_length=MAX_TAKERS), _InColumns] = ()


_EPOCH = re.compile(rb'\{"epoch":(\d{1,10}),')


def epoch_of(value: bytes) -> int:
    """Return the epoch of an item's record, without decoding it, or 0.

    >>> epoch_of(b'{"epoch":7,"domain":"films","item_id":"dune"}'), epoch_of(b"")
    (7, 0)
    """
    found = _EPOCH.match(value)
    return int(found[1]) if found else 0


class Profile(Model, topic="profiles"):
    """Counts of a user's interactions in a domain, for StatInit.

    `recent` has the facts of the newest interactions, newest last. Older ones are counted in `older`, per dimension
    and value, and in `older_known`, per dimension.
    """

    user_id: UserIdField
    domain: DomainField
    interactions: NonNegativeInt = 0
    recent: tuple[tuple[Fact, ...], ...] = Field((), max_length=15)
    older: dict[str, dict[str, NonNegativeInt]] = Field(default_factory=dict)
    older_known: dict[str, NonNegativeInt] = Field(default_factory=dict)
    recent_ids: tuple[Identifier, ...] = Field((), max_length=32)
    applied: tuple[Position, ...] = Field((), max_length=4)


class OptOut(StrEnum):
    """The reason why a choice teaches nothing."""

    NOT_REMEMBERED = "not-remembered"
    FOR_ANOTHER = "for-another"


class OpenRanking(Model):
    """A ranking that awaits its selection, as its contrast needs it.

    `size_bytes` is its share of the ring's bounded size; 0: it is alone.
    """

    ranking_id: Identifier
    domain: DomainField
    instruction: Instruction = ""
    candidates: tuple[ItemFacts, ...] = Field(max_length=MAX_CANDIDATES)
    skill_version: int = Field(0, ge=0)
    arm: Identifier | None = None
    opt_out: OptOut | None = None
    facets: tuple[Facet, ...] = Field((), max_length=MAX_FACETS)
    features: Features | None = None
    by_sager: bool = Field(False, exclude_if=is_empty)
    size_bytes: NonNegativeInt = 0
    session_id: Identifier | None = Field(None, exclude_if=is_empty)


class WaitingSelection(Model):
    """A selection that arrived before its ranking."""

    selection: Selection
    source: Position


class AnsweredRanking(Model):
    """A settled ranking with its taken items; without any, an abstention."""

    ranking_id: Identifier
    domain: DomainField | None = Field(None, exclude_if=is_empty)
    item_id: ItemIdField | None
    others: tuple[ItemIdField, ...] = Field((), max_length=MAX_CANDIDATES, exclude_if=is_empty)


class OpenRankings(Model, topic="open-rankings"):
    """A slot of a user's rings of open and settled rankings.

    The ranking's id determines the slot. Slots keep writes small, however many rankings a user has open.
    """

    user_id: UserIdField
    slot: int = Field(ge=0, lt=64)
    rankings: tuple[OpenRanking, ...] = Field((), max_length=64)
    waiting: tuple[WaitingSelection, ...] = Field((), max_length=64)
    answered: tuple[AnsweredRanking, ...] = Field((), max_length=128)
    applied: tuple[Position, ...] = Field((), max_length=4)
