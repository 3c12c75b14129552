"""The meaning of a correction: what the person wants or does not want, and which items suit them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from schemas import Directive, Fact, NotUnderstood, ReasonedBy, Scope

BY_RULES: Final = ReasonedBy()


class About(StrEnum):
    """Whose taste a correction is about."""

    THE_PERSON = "the-person"
    ANOTHER = "another"


@dataclass(frozen=True, slots=True)
class Read:
    """One directive, with the quotation it rests on (at most 200 characters; empty for a form).

    `scope` is None where the person gave none. `pattern` is the name of a pattern, `form` or `model`.
    """

    directive: Directive
    words: str
    scope: Scope | None
    pattern: str


@dataclass(frozen=True, slots=True)
class Understood:
    """The meaning of a whole correction.

    `suits` has ids of items that would do, wanted ones first. `why` is set where nothing was understood; `examples` are
    facts that the words could have named. With `unquoted` the words give a private reason, and none of them are kept.
    """

    says: tuple[Read, ...] = ()
    suits: tuple[str, ...] = ()
    language: str = ""
    about: About = About.THE_PERSON
    why: NotUnderstood | None = None
    examples: tuple[Fact, ...] = ()
    unquoted: bool = False
    reasoned_by: ReasonedBy = BY_RULES

    @property
    def is_understood(self) -> bool:
        """True if it says anything of the person."""
        return bool(self.says or self.suits)
