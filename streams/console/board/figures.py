"""What a page shows: figures, each with its table, and tables alone. Cells are text; templates escape them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.console.board.words import cell

Option = Mapping[str, Any]
"""What Apache ECharts draws: its `option`, which is JSON. Colours come with the page, which is dark or light."""


@dataclass(frozen=True)
class Column:
    """A table's column.

    Attributes:
        name: its heading.
        is_number: whether its cells are numbers, which are aligned by their end.
    """

    name: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        caption: what it holds, for those who do not see where it stands.
        columns: the headings.
        rows: the cells, as text.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart with its table.

    Attributes:
        name: its name in the page, such as `learning-curve`.
        title: its heading.
        note: how to read it, in a sentence or two.
        table: the same numbers.
        option: the chart.
        empty: what is said in its place while there are no numbers.
        tall: whether it takes more height than usual.
    """

    name: str
    title: str
    note: str
    table: Table
    option: Option = field(default_factory=dict)
    empty: str = "Nothing yet."
    tall: bool = False

    @property
    def has_data(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self.table.rows)


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Table:
    """A table of values of any kind.

    >>> table("Prices", [Column("what"), Column("price", is_number=True)], [("a", 1234.5), ("b", None)]).rows
    (('a', '1,234.5'), ('b', '—'))
    """
    return Table(caption, tuple(columns), tuple(tuple(cell(value) for value in row) for row in rows))
