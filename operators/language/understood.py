"""What was understood of a correction: what the person wants or does not, in their words, and what suits them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from schemas import Directive, Fact, NotUnderstood, ReasonedBy, Scope

BY_RULES: Final = ReasonedBy()


class About(StrEnum):
    """Whose taste a correction tells of."""

    THE_PERSON = "the-person"
    ANOTHER = "another"
    """Somebody else's: nothing is said about the person."""


@dataclass(frozen=True, slots=True)
class Read:
    """One thing that the person said.

    Attributes:
        directive: what they want or do not want.
        words: the span of their text that says so, at most 200 characters; empty where they filled in a form.
        scope: for how long they mean it; None where they did not say.
        pattern: what it was understood by: the name of a pattern, `form` or `model`.
    """

    directive: Directive
    words: str
    scope: Scope | None
    pattern: str


@dataclass(frozen=True, slots=True)
class Understood:
    """All that was understood of a correction.

    Attributes:
        says: what the person said, in the order in which they said it.
        suits: ids of items that they say would do, those that they want first.
        language: BCP 47, of the words that were understood or as the app told it; empty where nobody told.
        about: whose taste it is.
        why: why nothing was understood; None where something was.
        examples: facts that the words name, or could have named.
        unquoted: the words give a private reason, so that none of them are kept.
        reasoned_by: the record of how it was read.
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
        """Whether it says anything of the person; otherwise it changes nothing."""
        return bool(self.says or self.suits)
