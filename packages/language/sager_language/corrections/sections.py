"""The sections of a language's file, and the patterns that their lines make."""

from collections.abc import Mapping

from sager_language.corrections.patterns import BadPattern, expression
from sager_language.corrections.tokens import tokens
from sager_language.text import Lazy


class Sections:
    """What languages are loaded with.

    Args:
        name: the language's, for messages.
        sections: its file's lines, by section.

    Attributes:
        name: the language's.
        words: what stands for a name in braces; filled by whoever loads.
    """

    def __init__(self, name: str, sections: Mapping[str, tuple[str, ...]]) -> None:
        self.name = name
        self.words: dict[str, str] = {}
        self._sections = sections

    def expand(self) -> None:
        """Make the expression of each name once, since hundreds of patterns use it."""
        made = {}
        for name, said in self.words.items():
            try:
                made[name] = said if said.startswith("(?") else f"(?:{expression(said, self.words)})"
            except BadPattern as error:
                raise BadPattern(f"{self.name}: {name}: {error}") from None
        self.words = made

    def lines(self, section: str) -> tuple[str, ...]:
        """The lines of a section; none where there is no such section."""
        return self._sections.get(section, ())

    def made(self, pattern: str) -> str:
        """The expression of one pattern.

        Raises:
            BadPattern: it cannot be read; the message names the language and the line.
        """
        try:
            return expression(pattern, self.words)
        except BadPattern as error:
            raise BadPattern(f"{self.name}: {error}") from None

    def alternatives(self, section: str) -> str:
        """The expression that any line of a section makes."""
        made = [self.made(line) for line in self.lines(section)]
        # Nothing stands for a section without lines.
        return f"(?:{'|'.join(made)})" if made else "(?!)"

    def anywhere(self, section: str) -> Lazy:
        """What finds a line of a section where a word begins."""
        return Lazy(rf"(?<!\S){self.alternatives(section)}")

    def plain(self, section: str) -> frozenset[str]:
        """The words of a section."""
        return frozenset(word.text for line in self.lines(section) for word in tokens(line))
