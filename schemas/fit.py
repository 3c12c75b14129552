"""How well what was ranked suits a person: what a ranking tells of it, and the question that would tell more."""

from typing import Annotated

from pydantic import Field

from .base import Model, is_nothing
from .fields import AttributeId, Identifier, ItemIdField, Label, Share

MAX_OPTIONS = 4


class Option(Model):
    """One answer to a question: the fact that it names."""

    attribute_id: AttributeId
    value: Label


class Question(Model):
    """The one question whose answer would change a ranking most; its answer is a correction with `answers`."""

    question_id: Identifier
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    text: Annotated[str, Field(max_length=300)]
    options: tuple[Option, ...] = Field(min_length=2, max_length=MAX_OPTIONS)


class Fit(Model):
    """What a ranking tells of how well it suits, by what the person said and took.

    `chances` are of the candidates in the ranking's order: how probable it is that the person accepts each at all.
    """

    chances: tuple[Share, ...] = ()
    nothing: Share = Field(description="How probable it is that the person wants none of these.")
    suits: bool = Field(description="False: better to show nothing, or to ask.")
    against: dict[ItemIdField, AttributeId] = Field(
        default_factory=dict, description="Candidates that the person said they do not want, with the statement."
    )
    honoured: tuple[AttributeId, ...] = Field(
        default=(), max_length=64, description="The statements that this ranking goes by."
    )
    question: Question | None = Field(default=None, exclude_if=is_nothing, description="Only where the host asked.")


MAX_BELIEFS = 16
Beliefs = Annotated[tuple[Annotated[int, Field(ge=-(2**24), le=0)], ...], Field(min_length=2, max_length=MAX_BELIEFS)]
"""How probable each of a few chances is, that something unknown suits: log-likelihoods in 1/1024 nat, the best 0."""
