"""What the community says about a user: facets with their supporters (paper 2.2, C.4)."""

from typing import Annotated

from pydantic import Field

from .base import Model
from .fields import AttributeId, Label, Share

MAX_FACETS = 10
MAX_SUPPORTERS = 8

Neighbour = Annotated[str, Field(min_length=3, max_length=261, pattern=r"^(item|user):")]
"""A neighbour as facets cite it: `item:` with an item's id or, inside a worker only, `user:` with a pseudonym."""


class Facet(Model):
    """One line of collaborative context: what draws similar users, its confidence and its supporters."""

    facet: Label = Field(description="The line as it appears in a prompt.")
    confidence: Share
    supporting_neighbors: tuple[Neighbour, ...] = Field(default=(), max_length=MAX_SUPPORTERS)
    attribute_id: AttributeId | None = Field(
        default=None, description="The attribute that it names, if the parsers can find it in an item."
    )
