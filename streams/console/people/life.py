"""The life of a line: its counts and tier after each version, as a chart and as a table."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from operators.merge import merge
from schemas import ONE, SkillDiff, Tier
from streams.console.people.reading import SURE
from streams.console.rendering import day

MOST_POINTS = 300
"""Of a longer life, the newest points are shown."""


@dataclass(frozen=True)
class Point:
    """A line after a version; `taken` and `expected` in choices."""

    version: int
    at: datetime
    tier: Tier
    taken: float
    expected: float


def points(diffs: Sequence[SkillDiff], names: Collection[str]) -> list[Point]:
    """The line after each version that it was there.

    Args:
        diffs: all diffs of one skill, in order.
        names: the ids that it had, one after the other.
    """
    skill, found = None, list[Point]()
    for diff in diffs:
        skill = merge(skill, diff)
        found += [
            Point(diff.version, diff.occurred_at, line.tier, line.taken / ONE, line.expected / ONE)
            for line in skill.attributes
            if line.attribute_id in names
        ]
    return found[-MOST_POINTS:]


def chart(life: Sequence[Point]) -> dict[str, Any]:
    """The chart: how often it was taken, against what was to be expected; below it, how sure that made the line."""
    versions = [str(point.version) for point in life]
    smooth = {"showSymbol": len(life) == 1, "smooth": 0.2}
    return {
        "tooltip": {"trigger": "axis"},
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "legend": {"top": 0, "data": ["taken", "by chance"]},
        "grid": [
            {"left": 44, "right": 12, "top": 34, "height": "46%"},
            {"left": 44, "right": 12, "bottom": 26, "height": "18%"},
        ],
        "xAxis": [
            {"type": "category", "data": versions, "boundaryGap": False, "axisLabel": {"show": False}},
            {"type": "category", "data": versions, "boundaryGap": False, "gridIndex": 1, "name": ""},
        ],
        "yAxis": [
            {"type": "value", "min": 0, "splitNumber": 3},
            {
                "type": "value",
                "min": 0,
                "max": 3,
                "interval": 1,
                "gridIndex": 1,
                "axisLabel": {"show": False},
            },
        ],
        "series": [
            {"name": "taken", "type": "line", "data": [round(p.taken, 2) for p in life], "areaStyle": {"opacity": 0.12}}
            | smooth,
            {
                "name": "by chance",
                "type": "line",
                "data": [round(p.expected, 2) for p in life],
                "lineStyle": {"type": "dashed"},
            }
            | smooth,
            {
                "name": "how sure (0 to 3)",
                "type": "line",
                "step": "end",
                "data": [int(p.tier) for p in life],
                "xAxisIndex": 1,
                "yAxisIndex": 1,
                "areaStyle": {"opacity": 0.25},
                "showSymbol": len(life) == 1,
            },
        ],
    }


COLUMNS = ("Version", "Day", "Taken", "By chance", "How sure")


def rows(life: Sequence[Point]) -> list[tuple[object, ...]]:
    """The same as a table, the newest first."""
    return [(p.version, day(p.at), round(p.taken, 1), round(p.expected, 1), SURE[p.tier]) for p in reversed(life)]
