"""ECharts options, as JSON: what to draw, never in which colour. Shares are drawn in percent."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from streams.console.board.figures import Option

Value = float | int | str | None
PERCENT = {"formatter": "{value} %", "hideOverlap": True}
LONG_NAME, MANY_NAMES = 12, 16
"""Beyond, bars lie on their side."""
FRAME: dict[str, Any] = {
    # All of the room, labels and names of axes included.
    "grid": {"left": 4, "right": 20, "top": 44, "bottom": 4, "outerBoundsMode": "same", "outerBoundsContain": "all"},
    "legend": {"type": "scroll", "top": 0, "left": 0, "itemGap": 16},
}
ALONE: dict[str, Any] = {"grid": {**FRAME["grid"], "top": 28}, "legend": {"show": False}}
"""The same without a legend: there is one series, and the heading names it."""


def lines(
    times: Sequence[str],
    series: Mapping[str, Sequence[Value]],
    *,
    unit: str = "",
    stacked: bool = False,
    area: bool = False,
) -> Option:
    """Lines over the same categories or moments.

    Args:
        times: the x axis.
        series: a line's name and its values; None leaves a gap.
        unit: of the y axis.
        stacked: whether each line stands on the one before.
        area: whether the ground under a line is filled.
    """
    kinds: dict[str, Any] = {"type": "line", "showSymbol": len(times) < 30, "symbolSize": 6}  # noqa: PLR2004
    if stacked:
        kinds["stack"] = "all"
    if stacked or area:
        kinds["areaStyle"] = {"opacity": 0.25}
    return {
        **(FRAME if len(series) > 1 else ALONE),
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "category", "data": list(times), "boundaryGap": False},
        "yAxis": {"type": "value", "name": unit, "min": 0},
        "series": [{**kinds, "name": name, "data": list(values)} for name, values in series.items()],
    }


def bars(categories: Sequence[str], series: Mapping[str, Sequence[Value]], *, unit: str = "", stacked: bool) -> Option:
    """Bars side by side, or upon each other; lying where there are many, or their names are long."""
    lying = len(categories) > MANY_NAMES or max(map(len, categories), default=0) > LONG_NAME
    names: dict[str, Any] = {"type": "category", "data": list(categories)}
    if lying:
        names |= {"inverse": True, "axisLabel": {"width": 170, "overflow": "truncate"}}
    values: dict[str, Any] = {"type": "value", "name": "" if lying else unit}
    kinds: dict[str, Any] = {"type": "bar", "barMaxWidth": 26}
    if stacked:
        kinds["stack"] = "all"
    return {
        **(FRAME if len(series) > 1 else ALONE),
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": values if lying else names,
        "yAxis": names if lying else values,
        "series": [{**kinds, "name": name, "data": list(held)} for name, held in series.items()],
    }


def band(name: str, low: Sequence[Value], high: Sequence[Value]) -> list[dict[str, Any]]:
    """The series of an interval around a line of this name: its lower bound, and the filled rest above it."""
    width = [
        None if bottom is None or top is None else round(float(top) - float(bottom), 4)
        for bottom, top in zip(low, high, strict=True)
    ]
    kinds: dict[str, Any] = {
        "type": "line", "stack": f"interval of {name}", "stackStrategy": "all", "symbol": "none", "silent": True,
        "lineStyle": {"opacity": 0}, "tooltip": {"show": False},
    }  # fmt: skip
    return [
        {**kinds, "name": name, "data": list(low), "areaStyle": {"opacity": 0}},
        {**kinds, "name": name, "data": width, "areaStyle": {"opacity": 0.15}},
    ]


def sankey(links: Iterable[tuple[str, str, float]], left: Sequence[str], right: Sequence[str]) -> Option:
    """A flow from the left to the right.

    Args:
        links: from where, to where, how much.
        left: the names of its side, from top to bottom; those that nothing flows through are left out.
        right: likewise.
    """
    flows = [{"source": source, "target": target, "value": value} for source, target, value in links]
    met = {flow[end] for flow in flows for end in ("source", "target")}
    nodes = [
        {"name": name, "label": {"position": side}, "itemStyle": {"color": colour_of(name)}}
        for side, names in (("left", left), ("right", right))
        for name in names
        if name in met
    ]
    return {
        "tooltip": {"trigger": "item"},
        "series": [
            {
                "type": "sankey",
                "left": 84,
                "right": 84,
                "top": 8,
                "bottom": 8,
                "data": nodes,
                "links": flows,
                "nodeAlign": "justify",
                "layoutIterations": 0,
                "nodeGap": 14,
                "emphasis": {"focus": "adjacency"},
                "lineStyle": {"color": "gradient", "opacity": 0.35},
            }
        ],
    }


def colour_of(name: str) -> str:
    """The colour of a tier, by its place in the page's theme.

    >>> colour_of("is high"), colour_of("medium")
    ('chart-1', 'chart-5')
    """
    return _TIERS.get(name.rpartition(" ")[2], "chart-6")


_TIERS = {
    "high": "chart-1",
    "medium": "chart-5",
    "low": "chart-3",
    "silent": "muted",
    "new": "chart-2",
    "gone": "chart-4",
}


def points(
    xs: Sequence[Value], ys: Sequence[Value], *, across: str, up: str, sizes: Sequence[float] | None = None
) -> dict[str, Any]:
    """Points in a plane."""
    pairs = zip(xs, ys, strict=True)
    data: list[Any] = [list(pair) for pair in pairs]
    if sizes is not None:
        data = [{"value": pair, "symbolSize": size} for pair, size in zip(data, sizes, strict=True)]
    return {
        **ALONE,
        "tooltip": {"trigger": "item"},
        "xAxis": {"type": "value", "name": across, "nameLocation": "middle", "nameGap": 28, "scale": True},
        "yAxis": {"type": "value", "name": up, "scale": True},
        "series": [{"type": "scatter", "name": up, "data": data}],
    }


def rounded(value: float | None, digits: int = 2) -> float | None:
    """A value for a chart's hint, which shows what it is given.

    >>> rounded(1 / 3), rounded(None), rounded(float("inf"))
    (0.33, None, None)
    """
    return None if value is None or not isfinite(value) else round(value, digits)


def in_percent(share: float | None) -> float | None:
    """A share for an axis in percent.

    >>> in_percent(0.12345), in_percent(None)
    (12.3, None)
    """
    return None if share is None else rounded(100 * share, 1)
