"""The common parts of all dashboards: the model of a panel, its layout and its Grafana JSON."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

with warnings.catch_warnings():
    # It would require a schema that only Grafana 12 and later can read.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.builders import common as options
    from grafana_foundation_sdk.builders import dashboard as build
    from grafana_foundation_sdk.builders import prometheus, stat, timeseries
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import common, dashboard

from infra.monitoring.alert import CRITICAL, Alert
from infra.monitoring.rules import runbook

TAG = "sager"
WIDTH, HEIGHT = 24, 8
SOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
COLOURS = {True: "red", False: "orange"}
"""Colours of a limit, by whether its alert is critical."""

PER_SECOND, SECONDS, BYTES, SHARE, COUNT, DOLLARS = "cps", "s", "bytes", "percentunit", "short", "currencyUSD"


@dataclass(frozen=True)
class Query:
    """One PromQL expression with its legend, such as `{{topic}}`."""

    expr: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel: what it shows, what to do if it looks bad, and the alerts whose limits it draws."""

    title: str
    description: str
    unit: str
    queries: Sequence[Query]
    alerts: Sequence[Alert] = ()
    kind: Literal["lines", "number"] = "lines"
    width: int = 8
    stack: bool = False
    most: float | None = None
    states: Sequence[tuple[str, str]] = ()
    """Labels for the values 0, 1, 2, ..., each with its colour."""


@dataclass(frozen=True)
class Dashboard:
    """One dashboard: rows of panels, and its variables."""

    uid: str
    title: str
    description: str
    rows: Sequence[tuple[str, Sequence[Panel]]]
    variables: Sequence[build.QueryVariable | build.IntervalVariable]


def choice(name: str, label: str, query: str) -> build.QueryVariable:
    """A variable with multiple selection: `query` is a `label_values(...)`."""
    everything = dashboard.VariableOption(selected=True, text=["All"], value=["$__all"])
    return (
        build.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query({"query": query, "refId": f"variable-{name}"})
        .definition(query)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .current(everything)
    )


def window(default: str, *others: str) -> build.IntervalVariable:
    """The variable `$window`: the averaging window where `$__rate_interval` holds too few events."""
    values = (default, *others)
    chosen = [dashboard.VariableOption(selected=v == default, text=v, value=v) for v in values]
    return (
        build.IntervalVariable("window")
        .label("averaged over")
        .values(",".join(values))
        .options(chosen)
        .current(chosen[0])
    )


INSTANCE = choice("instance", "process", "label_values(sager_ready, instance)")
OF = 'instance=~"$instance"'
"""Selects the chosen processes."""


def encoded(told: Dashboard) -> str:
    """The dashboard's JSON."""
    built = (
        build.Dashboard(told.title)
        .uid(told.uid)
        .description(told.description)
        .tags([TAG])
        .readonly()
        .timezone("browser")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .time("now-6h", "now")
        .refresh("30s")
        .version(1)
        .link(link())
        .annotation(_annotation("restarts", "blue", f"process_start_time_seconds{{{OF}}} * 1000", at_value=True))
        .annotation(
            _annotation("rebalances", "purple", f"increase(sager_rebalances_total{{{OF}}}[$__rate_interval]) > 0")
        )
        .with_variable(_datasource())
    )
    for variable in told.variables:
        built.with_variable(variable)
    y = number = 0
    for title, panels in told.rows:
        number += 1
        built.with_row(build.Row(title).id(number).grid_pos(dashboard.GridPos(h=1, w=WIDTH, x=0, y=y)))
        x, y = 0, y + 1
        for panel in panels:
            number += 1
            if x + panel.width > WIDTH:
                x, y = 0, y + HEIGHT
            place = dashboard.GridPos(h=HEIGHT, w=panel.width, x=x, y=y)
            built.with_panel(_panel(panel).id(number).grid_pos(place))
            x += panel.width
        y += HEIGHT
    whole = built.build()
    in_the_open(whole)
    return json.dumps(whole, cls=JSONEncoder, indent=2, ensure_ascii=False) + "\n"


def in_the_open(whole: Any) -> None:
    """Takes links and marks out of the menu in which the package's default would hide them."""
    for each in (*(whole.links or ()), *(whole.annotations.list_val or ())):
        each.placement = None


def _datasource() -> build.DatasourceVariable:
    return build.DatasourceVariable("datasource").label("Prometheus").type("prometheus")


def link() -> build.DashboardLink:
    """The menu of all our dashboards."""
    return (
        build.DashboardLink("All of sager-streams")
        .type(dashboard.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .keep_time(True)
        .include_vars(True)
    )


def _annotation(name: str, colour: str, expr: str, *, at_value: bool = False) -> build.AnnotationQuery:
    """An annotation in all panels. With `at_value` a series' value is its time, in milliseconds."""
    return (
        build.AnnotationQuery()
        .name(name)
        .datasource(SOURCE)
        .enable(True)
        .icon_color(colour)
        .expr(expr)
        .title_format(f"{name}: {{{{instance}}}}")
        .use_value_for_time(at_value)
    )


def _panel(told: Panel) -> Any:
    built: Any = _lines(told) if told.kind == "lines" else _number()
    red_lines = [f"{alert.name} ({runbook(alert)})" for alert in told.alerts]
    built = (
        built.title(told.title)
        .description(told.description + (f" Alerts: {', '.join(red_lines)}." if red_lines else ""))
        .datasource(SOURCE)
        .unit(told.unit)
        .min(0)
        .thresholds(_thresholds(told.alerts))
        .targets(
            [
                prometheus.Dataquery()
                .ref_id(chr(ord("A") + number))
                .datasource(SOURCE)
                .expr(query.expr)
                .legend_format(query.legend)
                .range()
                for number, query in enumerate(told.queries)
            ]
        )
    )
    if told.most is not None:
        built = built.max(told.most)
    if told.states:
        words = {
            str(value): dashboard.ValueMappingResult(text=word, color=colour, index=value)
            for value, (word, colour) in enumerate(told.states)
        }
        built = built.mappings([dashboard.ValueMap(options=words)])
    return built


def _lines(told: Panel) -> timeseries.Panel:
    drawn = common.GraphThresholdsStyleMode.DASHED if told.alerts else common.GraphThresholdsStyleMode.OFF
    stacked = common.StackingMode.NORMAL if told.stack else common.StackingMode.NONE
    return (
        timeseries.Panel()
        .fill_opacity(20 if told.stack else 0)
        .line_width(1)
        .show_points(common.VisibilityMode.AUTO)
        .span_nulls(False)
        .stacking(options.StackingConfig().mode(stacked))
        .thresholds_style(options.GraphThresholdsStyleConfig().mode(drawn))
        .legend(
            options.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.TABLE)
            .placement(common.LegendPlacement.RIGHT if told.width > WIDTH // 3 else common.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(options.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    )


def _number() -> stat.Panel:
    return (
        stat.Panel()
        .graph_mode(common.BigValueGraphMode.AREA)
        .color_mode(common.BigValueColorMode.VALUE)
        .reduce_options(options.ReduceDataOptions().calcs(["lastNotNull"]))
        .no_value("none")
    )


def _thresholds(alerts: Sequence[Alert]) -> build.ThresholdsConfig:
    """Green where no alert fires. A Grafana step begins at its value, which matches an alert's `>=` and `<`."""
    low = [alert for alert in alerts if alert.op == "<"]
    high = {alert.limit: COLOURS[alert.severity == CRITICAL] for alert in alerts if alert.op == ">="}
    base = COLOURS[any(alert.severity == CRITICAL for alert in low)] if low else "green"
    steps = [dashboard.Threshold(value=None, color=base)]
    steps += [dashboard.Threshold(value=alert.limit, color="green") for alert in low[:1]]
    steps += [dashboard.Threshold(value=limit, color=colour) for limit, colour in sorted(high.items())]
    return build.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps)
