"""Panels over our HTTP API, asked by Grafana's Infinity data source: their model, and its JSON.

Infinity asks a URL below the data source's own, which also has the token, and takes columns out of a list in the
answer. Ids in a path are percent-encoded by Grafana.
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from infra.monitoring.panels import HEIGHT, TAG, WIDTH, in_the_open, link

with warnings.catch_warnings():
    # As in `panels`: it would require a schema that only Grafana 12 and later can read.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.builders import barchart, table, trend
    from grafana_foundation_sdk.builders import common as options
    from grafana_foundation_sdk.builders import dashboard as build
    from grafana_foundation_sdk.cog import builder, runtime, variants
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import common, dashboard

TYPE = "yesoreyeram-infinity-datasource"
SOURCE = common.DataSourceRef(type_val=TYPE, uid="${datasource}")
TEXT, NUMBER, TIME = "string", "number", "timestamp"
"""Types of columns, as Infinity names them."""


@dataclass(frozen=True)
class Column:
    """One column: where it is in a row of the answer, its heading, and its type."""

    selector: str
    heading: str
    type: str = TEXT


@dataclass(frozen=True)
class Asked:
    """A request: its path, where the list is in the answer, and what is taken of each row."""

    path: str
    rows: str
    columns: Sequence[Column]

    def json(self, ref: str) -> dict[str, Any]:
        """As Infinity has it."""
        return {
            "refId": ref,
            "datasource": {"type": TYPE, "uid": "${datasource}"},
            "type": "json",
            "source": "url",
            "parser": "backend",
            "format": "table",
            "url": self.path,
            "url_options": {"method": "GET", "data": ""},
            "root_selector": self.rows,
            "columns": [{"selector": each.selector, "text": each.heading, "type": each.type} for each in self.columns],
            "filters": [],
        }


@dataclass(frozen=True)
class View:
    """One panel: what it shows and what to make of it."""

    title: str
    description: str
    asked: Asked
    kind: Literal["table", "bars", "lines"] = "table"
    unit: str | None = None
    x: str = ""
    """The heading of what lies along a chart."""
    width: int = WIDTH // 2
    most: float | None = None


class _Query(builder.Builder[variants.Dataquery]):
    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def build(self) -> variants.Dataquery:
        return runtime.UnknownDataquery(self._asked.json("A"))


def choice(name: str, label: str, asked: Asked) -> build.QueryVariable:
    """A variable whose values come from the API: the first column."""
    return (
        build.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query({"query": "", "queryType": "infinity", "infinityQuery": asked.json("variable")})
        .definition(asked.path)
        .refresh(dashboard.VariableRefresh.ON_DASHBOARD_LOAD)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
        .multi(False)
        .include_all(False)
    )


def encoded(
    uid: str,
    title: str,
    description: str,
    variables: Sequence[build.QueryVariable],
    rows: Sequence[tuple[str, Sequence[View]]],
) -> str:
    """A dashboard's JSON."""
    built = (
        build.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([TAG])
        .readonly()
        .timezone("browser")
        .time("now-6h", "now")
        .refresh("")
        .version(1)
        .link(link())
        .with_variable(build.DatasourceVariable("datasource").label("API").type(TYPE))
    )
    for variable in variables:
        built.with_variable(variable)
    y = number = 0
    for heading, views in rows:
        number += 1
        built.with_row(build.Row(heading).id(number).grid_pos(dashboard.GridPos(h=1, w=WIDTH, x=0, y=y)))
        x, y = 0, y + 1
        for view in views:
            number += 1
            if x + view.width > WIDTH:
                x, y = 0, y + HEIGHT
            place = dashboard.GridPos(h=HEIGHT, w=view.width, x=x, y=y)
            built.with_panel(_panel(view).id(number).grid_pos(place))
            x += view.width
        y += HEIGHT
    whole = built.build()
    in_the_open(whole)
    return json.dumps(whole, cls=JSONEncoder, indent=2, ensure_ascii=False) + "\n"


def _panel(view: View) -> Any:
    built: Any
    if view.kind == "lines":
        built = trend.Panel().x_field(view.x).line_width(1).legend(_legend())
    elif view.kind == "bars":
        built = barchart.Panel().x_field(view.x).stacking(common.StackingMode.NORMAL).legend(_legend())
    else:
        built = table.Panel()
    built = built.title(view.title).description(view.description).datasource(SOURCE).targets([_Query(view.asked)])
    if view.unit is not None:
        built = built.unit(view.unit)
    if view.most is not None:
        built = built.min(0).max(view.most)
    return built


def _legend() -> Any:
    return (
        options.VizLegendOptions()
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )
