"""Items as apps send them, and the facts that a parser finds in them."""

from typing import Annotated, ClassVar

from pydantic import Field

from .base import Event, Model
from .fields import DomainField, ItemIdField, Label, Metadata, Text, Title

MAX_FACTS = 32


class Candidate(Model):
    """Something rankable, with its raw metadata; StatInit parses it (paper 2.3, App. E)."""

    item_id: ItemIdField
    title: Title = ""
    description: Text = ""
    metadata: Metadata = Field(default_factory=dict)


class Item(Event):
    """One entry of the catalogue; the newest per `item_id` applies."""

    TOPIC: ClassVar[str] = "items"

    domain: DomainField
    item: Candidate


class Fact(Model):
    """One thing that a parser found in an item's metadata, such as `genre = science fiction`."""

    dimension: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z][a-z0-9_]*$")]
    value: Label


class ItemFacts(Model):
    """An item reduced to what `evolve` needs: its name and its facts."""

    item_id: ItemIdField
    title: Title = ""
    facts: tuple[Fact, ...] = Field(default=(), max_length=MAX_FACTS)
