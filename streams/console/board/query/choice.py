"""Picks a chart for a result, by the types of its columns: a line over time, bars over names, points over numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streams.console.board import charts, words
from streams.console.board.figures import Option
from streams.console.board.query.frames import Cell, Row

TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIME")
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT",
           "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")  # fmt: skip
WHOLE = NUMBERS[:10]
MOST_SERIES, MOST_BARS, MOST_POINTS = 12, 60, 1_000
MOST_MEASURES = 4
MOST_LINES = 6
"""Where several measures are drawn for each of several names."""
NAME_LETTERS = 40


@dataclass(frozen=True)
class Shape:
    """Which columns are what, by their place.

    Attributes:
        along: the x axis.
        measures: what is drawn.
        by: the column whose values make a series each; None: one series for each measure.
    """

    along: int
    measures: tuple[int, ...]
    by: int | None = None


def chart(columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> tuple[str, Option] | None:
    """A chart with how it was chosen, in a sentence; None where nothing can be drawn."""
    kinds = [_kind(type_) for _, type_ in columns]
    numbers = _at(kinds, "number")
    if len(rows) < 2 or not numbers:  # noqa: PLR2004 - one row is no chart
        return None
    times, texts = _at(kinds, "time"), _at(kinds, "text")
    if times:
        shape = Shape(times[0], _measures(rows, numbers), _by(rows, texts))
        return _said(columns, shape, "line"), _lines(columns, rows, shape)
    step, others = numbers[0], numbers[1:]
    by = _by(rows, texts)
    if others and columns[step][1].upper() in WHOLE and _is_a_walk(rows, step, by):
        shape = Shape(step, _measures(rows, others), by)
        return _said(columns, shape, "line"), _lines(columns, rows, shape)
    if texts:
        shape = Shape(texts[0], _measures(rows, numbers))
        return _said(columns, shape, "bar"), _bars(columns, rows[:MOST_BARS], shape)
    if others:
        shape = Shape(step, (others[0],))
        return _said(columns, shape, "point"), _points(columns, rows[:MOST_POINTS], shape)
    return None


def _kind(type_: str) -> str:
    plain = type_.upper().partition("(")[0]
    return (
        "time" if plain in TIMES else "number" if plain in NUMBERS else "text" if plain in ("VARCHAR", "ENUM") else ""
    )


def _at(kinds: Sequence[str], wanted: str) -> list[int]:
    return [at for at, kind in enumerate(kinds) if kind == wanted]


def _by(rows: Sequence[Row], texts: Sequence[int]) -> int | None:
    """The first column of names that has few enough for a line each."""
    return next((at for at in texts if 1 < len({row[at] for row in rows}) <= MOST_SERIES), None)


def _is_a_walk(rows: Sequence[Row], step: int, by: int | None) -> bool:
    """Whether a number counts up: it is there once in each series, and in more than two rows."""
    met = {(None if by is None else row[by], row[step]) for row in rows}
    steps = {row[step] for row in rows}
    return len(met) == len(rows) and len(steps) > 2 and None not in steps  # noqa: PLR2004


def _measures(rows: Sequence[Row], numbers: Sequence[int]) -> tuple[int, ...]:
    """What to draw together: shares if there are any, which need an axis of their own, else the first few numbers."""
    shares = [at for at in numbers if _are_shares([row[at] for row in rows])]
    return tuple((shares or list(numbers))[:MOST_MEASURES])


def _are_shares(values: Sequence[Cell]) -> bool:
    known = [value for value in values if value is not None]
    return any(isinstance(value, float) and value % 1 for value in known) and all(
        isinstance(value, int | float) and 0 <= value <= 1 for value in known
    )


def _series(columns: Sequence[tuple[str, str]], rows: Sequence[Row], shape: Shape) -> dict[str, dict[Cell, Any]]:
    """Series by name: what each measure is along the axis, for each value of `by`."""
    found: dict[str, dict[Cell, Any]] = {}
    groups = list(dict.fromkeys(row[shape.by] for row in rows)) if shape.by is not None else [None]
    measures = shape.measures[: max(1, MOST_LINES // len(groups))]
    for row in rows:
        group = None if shape.by is None else row[shape.by]
        for measure in measures:
            parts = ([] if shape.by is None else [words.cell(group)]) + (
                [columns[measure][0]] if len(measures) > 1 or shape.by is None else []
            )
            name = words.cut(" ".join(parts), NAME_LETTERS)
            found.setdefault(name, {}).setdefault(row[shape.along], _number(row[measure]))
    return found


def _lines(columns: Sequence[tuple[str, str]], rows: Sequence[Row], shape: Shape) -> Option:
    known = {row[shape.along] for row in rows if row[shape.along] is not None}
    along = sorted(known, key=lambda value: (isinstance(value, str), value))
    found = _series(columns, rows, shape)
    drawn = dict(
        charts.lines(
            [words.cut(str(value), NAME_LETTERS) for value in along],
            {name: [values.get(value) for value in along] for name, values in found.items()},
        )
    )
    drawn["yAxis"] = {"type": "value", "scale": True}
    return drawn


def _bars(columns: Sequence[tuple[str, str]], rows: Sequence[Row], shape: Shape) -> Option:
    # Names may be there several times: bars follow rows, not names.
    names = [words.cut(words.cell(row[shape.along]), NAME_LETTERS) for row in rows]
    return charts.bars(
        names,
        {
            words.cut(columns[measure][0], NAME_LETTERS): [_number(row[measure]) for row in rows]
            for measure in shape.measures
        },
        stacked=False,
    )


def _points(columns: Sequence[tuple[str, str]], rows: Sequence[Row], shape: Shape) -> Option:
    [measure] = shape.measures
    across, up = (words.cut(columns[at][0], NAME_LETTERS) for at in (shape.along, measure))
    pairs = [(_number(row[shape.along]), _number(row[measure])) for row in rows]
    there = [pair for pair in pairs if None not in pair]
    return charts.points([x for x, _ in there], [y for _, y in there], across=across, up=up)


def _number(value: Cell) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _said(columns: Sequence[tuple[str, str]], shape: Shape, what: str) -> str:
    drawn = ", ".join(words.cut(columns[at][0], NAME_LETTERS) for at in shape.measures)
    along = words.cut(columns[shape.along][0], NAME_LETTERS)
    by = "" if shape.by is None else f", a {what} for each {words.cut(columns[shape.by][0], NAME_LETTERS)}"
    return f"{drawn} along {along}{by}"
