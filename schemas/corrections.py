"""What a person says, in words or by a form, about a ranking, an item or in general."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Event, Model
from .conditions import Condition, equals, given, has_any, where
from .events import MAX_CANDIDATES, distinct
from .fields import DomainField, Identifier, Instruction, ItemIdField, Label, UserIdField
from .items import Candidate
from .statements import Bound, Scope, Stance

MAX_DIRECTIVES = 16
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


def _of_a_directive() -> dict[str, Any]:
    """One subject; and `over` beside `instead` alone."""
    subjects: list[Condition] = [given("dimension", "value"), given("item_id"), given("bound")]
    one_other = where(
        equals("stance", Stance.INSTEAD.value),
        given("dimension", "value", "over"),
        {"properties": {"over": {"type": "null"}}},
    )
    return {"oneOf": subjects, "allOf": [one_other]}


class Directive(Model):
    """One thing that a person wants or does not want, in fields.

    It names a fact (`dimension` and `value`), one item (`item_id`) or a measure (`bound`).
    """

    model_config = ConfigDict(json_schema_extra=_of_a_directive())

    stance: Stance
    dimension: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    value: Label | None = None
    over: Label | None = Field(default=None, description="instead: the value of the same dimension that it replaces.")
    item_id: ItemIdField | None = None
    bound: Bound | None = None
    changed: bool = Field(default=False, description="The person says that they once thought otherwise.")

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        named = (
            self.dimension is not None and self.value is not None,
            self.item_id is not None,
            self.bound is not None,
        )
        if sum(named) != 1:
            raise PydanticCustomError("no_subject", "name either a dimension and a value, an item_id or a bound")
        if (self.over is not None) != (self.stance is Stance.INSTEAD) or (
            self.stance is Stance.INSTEAD and not named[0]
        ):
            raise PydanticCustomError("no_instead", "instead needs dimension, value and over; nothing else has over")
        return self


def _of_a_correction() -> dict[str, Any]:
    """It says something; who names an item has shown some. That it is one of those, no JSON Schema can say."""
    words = {"required": ["text"], "properties": {"text": {"type": "string", "pattern": r"\S"}}}
    names_an_item = {"required": ["says"], "properties": {"says": {"type": "array", "contains": given("item_id")}}}
    says: list[Condition] = [words, has_any("says"), has_any("suits")]
    names: list[Condition] = [given("item_id"), has_any("suits"), names_an_item]
    return {"anyOf": says, "allOf": [where({"anyOf": names}, has_any("items"))]}


class Correction(Event):
    """What a person says. `items` is what they see while they say it, first place first, so that "the second" is known.

    `says` is what a form says; where it is empty, `text` is read. `suits` are items that they say would do, whatever
    else they want.
    """

    model_config = ConfigDict(json_schema_extra=_of_a_correction())

    TOPIC: ClassVar[str] = "corrections"

    user_id: UserIdField
    domain: DomainField
    text: Instruction = Field(default="", description="The person's own words.")
    language: Language | None = Field(default=None, description="BCP 47, such as `de`; none: told by the words.")
    items: tuple[Candidate, ...] = Field(default=(), max_length=MAX_CANDIDATES)
    item_id: ItemIdField | None = Field(default=None, description="The item that it is about, if it is about one.")
    says: tuple[Directive, ...] = Field(default=(), max_length=MAX_DIRECTIVES)
    suits: tuple[ItemIdField, ...] = Field(
        default=(), max_length=MAX_CANDIDATES, description="Of `items`: those that the person says would do."
    )
    scope: Scope | None = Field(default=None, description="none: what the words say, else always.")
    answers: Identifier | None = Field(default=None, description="The question that this answers.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        distinct(self.items)
        if not (self.text.strip() or self.says or self.suits):
            raise PydanticCustomError("says_nothing", "a correction needs text, says or suits")
        shown = {item.item_id for item in self.items}
        named = {name for name in (self.item_id, *self.suits, *(said.item_id for said in self.says)) if name}
        if not named <= shown:
            raise PydanticCustomError("not_shown", "item_id and suits must name items of `items`")
        return self
