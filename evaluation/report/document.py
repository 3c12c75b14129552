"""What a report consists of, before it is written as Markdown or as a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True)
class Text:
    """A paragraph; what stands between backticks is code."""

    text: str


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells are plain text, or code where the whole cell stands between backticks.

    Attributes:
        words: how many columns from the left hold words; the others hold numbers.
        caption: what the table shows.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its 95 % interval.

    Attributes:
        at: where: a number of an axis, or the name of a group.
    """

    at: float | str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Points of one kind.

    Attributes:
        pale: drawn as something to compare with: hatched, or dashed.
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
    """How a chart is drawn."""

    DOTS = "dots"
    """Names go down, values across."""
    BARS = "bars"
    LINES = "lines"


@dataclass(frozen=True)
class Chart:
    """Panels side by side; a series of one label has one colour in all.

    Attributes:
        columns: panels in a row.
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
        name: of the file, without its ending.
        alt: what it shows, for those who do not see it.
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
    """All of it."""

    title: str
    sections: Sequence[Section] = field(default=())

    def pictures(self) -> list[Picture]:
        """All charts, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Picture)]
