"""Numbers as a domain declares them: unit, words, direction and codes; none has to be declared.

Imports nothing of ours, so settings stay light.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

MAX_UNIT_CHARS, MAX_WORDS_CHARS = 12, 30
_DELIMITERS = frozenset("|:,;\n")
# The start of a domain's weight with a direction: one standard deviation of its prior, so that choices overrule it.
_START: Final = 0.25


@dataclass(frozen=True)
class DeclaredNumber:
    """A number of a domain; `less` and `more` are comparatives, such as `cheaper`.

    `direction` is the side that most people prefer. A `code` is an integer that is a name, such as a class or a line of
    trains: a fact, never compared.
    """

    # A misspelt key is an error.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    unit: str = ""
    less: str = ""
    more: str = ""
    direction: Literal["less", "more"] | None = None
    code: bool = False

    def __post_init__(self) -> None:
        """Check the words: prompts get them as they are."""
        for words, most in ((self.unit, MAX_UNIT_CHARS), (self.less, MAX_WORDS_CHARS), (self.more, MAX_WORDS_CHARS)):
            if len(words) > most or not _DELIMITERS.isdisjoint(words):
                raise ValueError(f"{words[:most]!r} has more than {most} characters, or one of | : , ;")


# By name.
Numbers = Mapping[str, DeclaredNumber]
NO_NUMBERS: Final[Numbers] = {}


def start_weights(numbers: Numbers) -> dict[str, float]:
    """Return the domain's weights before its first choice.

    >>> start_weights({"price": DeclaredNumber(direction="less"), "legroom": DeclaredNumber(unit="cm")})
    {'price': -0.25}
    """
    signs = {"less": -1, "more": 1}
    return {name: signs[each.direction] * _START for name, each in numbers.items() if each.direction}
