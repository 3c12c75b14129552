"""Items as apps send them, and their facts."""

from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field

from .base import (
    DomainField,
    Event,
    Identifier,
    ItemIdField,
    Label,
    Metadata,
    Model,
    Text,
    Title,
    as_array,
    is_empty,
    is_none,
)

MAX_FACTS = 32
MAX_QUOTED_FACTS = 8
MAX_EXCERPT = 400
# Larger numbers are no measure of an item; parsers leave them out.
MAX_MEASURE = 1e9


class Measure(StrEnum):
    """The measures of items, in which items of a list are compared."""

    PRICE = "price"
    YEAR = "year"
    RATING = "rating"
    POPULARITY = "popularity"
    DISTANCE = "distance"
    LENGTH = "length"


class Candidate(Model):
    """An item with raw metadata, which StatInit parses (paper 2.3, App. E).

    In a list, an id alone names an item of the catalogue.
    """

    item_id: ItemIdField
    title: Title = ""
    description: Text = ""
    metadata: Metadata = Field(default_factory=dict)

    @property
    def is_id_alone(self) -> bool:
        """True without title, description and metadata."""
        return not (self.title or self.description or self.metadata)


@as_array
class Fact(NamedTuple):
    """A fact of an item, such as `["genre", "science fiction"]`."""

    dimension: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z][a-z0-9_]*$")]
    value: Label


class QuotedFacts(Model):
    """Facts that a model quoted from an item's text.

    `source_id` is the `event_id` of the app's record, `digest` the hash of the text.
    """

    source_id: Identifier
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    facts: tuple[Fact, ...] = Field((), max_length=MAX_QUOTED_FACTS)


class Item(Event, topic="items"):
    """An entry of the catalogue; the newest per `item_id` applies.

    The agent `enrich` writes an app's record again with `quoted`.
    """

    domain: DomainField
    item: Candidate
    quoted: QuotedFacts | None = Field(None, exclude_if=is_none)


# The name of a number of an item, such as `price` or `duration_minutes`.
NumberName = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,19}$")]
# A measured number, in the unit of the app's items.
Amount = Annotated[float, Field(ge=0, le=MAX_MEASURE)]


class ItemFacts(Model):
    """An item reduced to its name, facts and measures.

    `unreadable`: the parser or the privacy filter failed; the item is ranked, but teaches nothing.
    `excerpt` is the beginning of its description, only where a model reads choices.
    """

    item_id: ItemIdField
    title: Title = ""
    facts: tuple[Fact, ...] = Field((), max_length=MAX_FACTS)
    measures: dict[NumberName, Amount] = Field(default_factory=dict, max_length=2 * len(Measure), exclude_if=is_empty)
    unreadable: bool = Field(False, exclude_if=is_empty)
    excerpt: Annotated[str, Field(max_length=MAX_EXCERPT)] = Field("", exclude_if=is_empty)
