"""The results of a ranking: its fit, a clarifying question, and facets from similar users."""

from typing import Annotated

from pydantic import Field

from .base import AttributeId, Identifier, ItemIdField, Label, Model, Share, is_empty

MAX_OPTIONS = 4
MAX_BELIEFS = 16
MAX_FACETS = 10
MAX_SUPPORTERS = 8

# Log-likelihoods of the chances that an unknown item suits, in 1/1024 nat; the best is 0.
Beliefs = Annotated[tuple[Annotated[int, Field(ge=-(2**24), le=0)], ...], Field(min_length=2, max_length=MAX_BELIEFS)]
# `item:` with an item's id or, inside a worker only, `user:` with a pseudonym.
Neighbour = Annotated[str, Field(min_length=3, max_length=261, pattern=r"^(item|user):")]


class Facet(Model):
    """One line of collaborative context: a taste of similar users (paper 2.2, C.4)."""

    facet: Label = Field(description="The line as it appears in a prompt.")
    confidence: Share
    supporting_neighbors: tuple[Neighbour, ...] = Field((), max_length=MAX_SUPPORTERS)
    attribute_id: AttributeId | None = Field(None, description="The attribute that it names, if items have it.")


class Option(Model):
    """One answer to a question: a fact."""

    attribute_id: AttributeId
    value: Label


class ClarifyingQuestion(Model):
    """The question whose answer would change the ranking most; the answer is a correction with `answers`."""

    question_id: Identifier
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    text: Annotated[str, Field(max_length=300)]
    options: tuple[Option, ...] = Field(min_length=2, max_length=MAX_OPTIONS)


class Fit(Model):
    """How well a ranking suits the user, by their statements and choices.

    `chances` has the probability that the user accepts each candidate, in the ranking's order; `against` names the
    statement against each unwanted candidate.
    """

    chances: tuple[Share, ...] = ()
    nothing: Share = Field(description="The probability that the user wants none of them.")
    suits: bool = Field(description="False: show nothing, or ask.")
    against: dict[ItemIdField, AttributeId] = Field(default_factory=dict, description="Unwanted candidates.")
    followed: tuple[AttributeId, ...] = Field((), max_length=64, description="Statements that the ranking follows.")
    question: ClarifyingQuestion | None = Field(None, exclude_if=is_empty, description="Only with `clarify`.")
