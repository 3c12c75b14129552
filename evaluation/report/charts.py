"""Draws charts as PNG, in colours for colour-blind readers and with markers for greyscale prints."""

from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evaluation.report.document import Chart, Kind, Panel, Point, Series

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""The palette of Okabe and Ito, most distinct first; their yellow is too pale for lines."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DPI = 150
_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
}
_PANEL = {Kind.BARS: (4.0, 3.0), Kind.LINES: (4.0, 3.4)}
"""Width and height in inches."""
_LEGEND = 0.28
"""Height of a legend line, in inches."""
_ACROSS = 4
"""Labels per legend line."""
_FEW = 8
"""Above this number of points, intervals are drawn as a band, and points have no ticks of their own."""


Looks = dict[str, tuple[str, str]]
"""Colour and marker of each series, by label."""


def draw(chart: Chart, file: Path) -> None:
    """Draws a chart to a PNG file."""
    with rc_context(_STYLE):
        columns = min(chart.columns, len(chart.panels))
        rows = ceil(len(chart.panels) / columns)
        labels = list(dict.fromkeys(series.label for panel in chart.panels for series in panel.series))
        lines = ceil(len(labels) / _ACROSS)
        width, height = _size(chart)
        figure = Figure(figsize=(columns * width, rows * height + 0.7 + lines * _LEGEND), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False, sharey=_shares(chart)).flatten()
        looks = _looks(chart)
        for panel, ax in zip(chart.panels, axes, strict=False):
            ax.set_title(panel.title)
            _KINDS[chart.kind](ax, chart, panel, looks)
        for ax in axes[len(chart.panels) :]:
            ax.set_visible(False)
        figure.suptitle(chart.title, x=0.01, ha="left", weight="bold")
        shown: dict[str, Any] = {}
        for ax in axes:
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                shown.setdefault(label, handle)
        handles = [shown[label] for label in labels]
        figure.legend(handles, labels, loc="outside lower center", ncols=ceil(len(labels) / lines))
        figure.savefig(file, dpi=DPI)


def _looks(chart: Chart) -> Looks:
    """A dashed line has the colour of the line before it, which it is compared with."""
    looks: Looks = {}
    taken = 0
    for series in (series for panel in chart.panels for series in panel.series):
        if series.label not in looks:
            taken += not (series.pale and chart.kind is Kind.LINES and taken)
            looks[series.label] = (COLOURS[(taken - 1) % len(COLOURS)], MARKERS[(taken - 1) % len(MARKERS)])
    return looks


def _size(chart: Chart) -> tuple[float, float]:
    if chart.kind is not Kind.DOTS:
        return _PANEL[chart.kind]
    return 6.0, 1.0 + 0.36 * max(len(_names(panel)) for panel in chart.panels)


def _shares(chart: Chart) -> bool:
    return chart.kind is Kind.DOTS and len({tuple(_names(panel)) for panel in chart.panels}) == 1


def _names(panel: Panel) -> list[str]:
    return list(dict.fromkeys(str(point.at) for series in panel.series for point in series.points))


def _errors(points: Sequence[Point]) -> Any:
    return [
        [max(0.0, point.value - point.low) for point in points],
        [max(0.0, point.high - point.value) for point in points],
    ]


def _dots(ax: Axes, chart: Chart, panel: Panel, looks: Looks) -> None:
    names = _names(panel)
    for series in panel.series:
        colour, marker = looks[series.label]
        ax.errorbar(
            [point.value for point in series.points],
            [names.index(str(point.at)) for point in series.points],
            xerr=_errors(series.points),
            fmt=marker,
            color=colour,
            markersize=5.5,
            elinewidth=1.4,
            capsize=2.5,
            label=series.label,
        )
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel(chart.value_label)


def _bars(ax: Axes, chart: Chart, panel: Panel, looks: Looks) -> None:
    names, breadth = _names(panel), 0.8 / len(panel.series)
    for n, series in enumerate(panel.series):
        shift = (n - (len(panel.series) - 1) / 2) * breadth
        ax.bar(
            [names.index(str(point.at)) + shift for point in series.points],
            [point.value for point in series.points],
            breadth * 0.92,
            yerr=_errors(series.points),
            color="white" if series.pale else looks[series.label][0],
            edgecolor=looks[series.label][0],
            hatch="///" if series.pale else None,
            error_kw={"elinewidth": 1.2, "capsize": 3, "ecolor": "#222222"},
            label=series.label,
        )
    ax.set_xticks(range(len(names)), names, rotation=20, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0, min(1.0, 1.1 * max(point.high for each in chart.panels for s in each.series for point in s.points)))
    ax.set_ylabel(chart.value_label)


def _lines(ax: Axes, chart: Chart, panel: Panel, looks: Looks) -> None:
    ticks = sorted({float(point.at) for series in panel.series for point in series.points})
    solid = [series for series in panel.series if not series.pale]
    # Offset by a hundredth of the axis, so that no interval hides another.
    step = (ticks[-1] - ticks[0]) / 100
    for n, series in enumerate(solid):
        _line(ax, series, looks, 0.0 if len(ticks) > _FEW else (n - (len(solid) - 1) / 2) * step, len(ticks) > _FEW)
    for series in panel.series:
        if series.pale:
            at, values = [float(point.at) for point in series.points], [point.value for point in series.points]
            ax.plot(at, values, color=looks[series.label][0], linestyle="--", linewidth=1.4, label=series.label)
    if len(ticks) <= _FEW:
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xlabel(chart.at_label)
    ax.set_ylabel(chart.value_label)
    ax.margins(y=0.15)


def _line(ax: Axes, series: Series, looks: Looks, shift: float, band: bool) -> None:
    colour, marker = looks[series.label]
    at, values = [float(point.at) + shift for point in series.points], [point.value for point in series.points]
    if band:
        low, high = [point.low for point in series.points], [point.high for point in series.points]
        ax.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.errorbar(
        at,
        values,
        yerr=None if band else _errors(series.points),
        color=colour,
        marker=marker,
        markersize=5,
        linewidth=1.6,
        elinewidth=1.2,
        capsize=3,
        label=series.label,
    )


_KINDS: dict[Kind, Callable[[Axes, Chart, Panel, Looks], None]] = {
    Kind.DOTS: _dots,
    Kind.BARS: _bars,
    Kind.LINES: _lines,
}
