"""The elements of a report, independent of Markdown and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True)
class Text:
    """A paragraph; text between backticks is code."""

    text: str


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table. Cells are plain text, or code if the whole cell is between backticks.

    Attributes:
        words: how many columns, from the left, hold words; the others hold numbers.
        caption: the table's caption.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its 95 % interval.

    Attributes:
        at: its position: a number on an axis, or the name of a group.
    """

    at: float | str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Points of one kind.

    Attributes:
        pale: draws it as a reference: hatched or dashed.
    """

    label: str
    points: Sequence[Point]
    pale: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    series: Sequence[Series]


class Kind(StrEnum):
    """The kind of chart."""

    DOTS = "dots"
    """Names on the vertical axis, values on the horizontal one."""
    BARS = "bars"
    LINES = "lines"


@dataclass(frozen=True)
class Chart:
    """Panels side by side; a series has the same colour in all of them.

    Attributes:
        columns: panels per row.
    """

    kind: Kind
    title: str
    panels: Sequence[Panel]
    value_label: str
    at_label: str = ""
    columns: int = 3


@dataclass(frozen=True)
class Picture:
    """A chart in a file.

    Attributes:
        name: the file's name, without its ending.
        alt: the alternative text.
    """

    name: str
    alt: str
    chart: Chart


Block = Text | Heading | Table | Picture


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    sections: Sequence[Section] = field(default=())

    def pictures(self) -> list[Picture]:
        """All charts, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Picture)]
