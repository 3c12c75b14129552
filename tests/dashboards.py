"""The committed dashboards and rules as tests see them: what Grafana would ask Prometheus, and with which values."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "infra" / "grafana" / "dashboards"
RULES = ROOT / "infra" / "prometheus" / "rules" / "sager.yml"


@dataclass(frozen=True)
class Alert:
    """An alert as the rule files have it: `(expr) op limit` for so long."""

    name: str
    severity: str
    expr: str
    op: str
    limit: float
    lasting: str
    runbook: str


def _alerts() -> Iterator[Alert]:
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            parts = re.fullmatch(r"\((.+)\) (>=|<) (\S+)", rule["expr"])
            assert parts, f"{rule['alert']} is not `(expr) op limit`, which panels draw"
            of = (rule["labels"]["severity"], parts[1], parts[2], float(parts[3]))
            yield Alert(rule["alert"], *of, rule["for"], rule["annotations"]["runbook"])


@dataclass(frozen=True)
class Asked:
    """One query of a panel, an annotation or an alert."""

    where: str
    what: str
    expr: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.where} / {self.what}"


ALERTS = tuple(_alerts())


def dashboards() -> dict[str, dict[str, Any]]:
    """Every committed dashboard by the name of its file."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Without the rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def variables(dashboard: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The metric and the label that a variable's values are taken from."""
    found = {}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            told = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert told, variable
            found[variable["name"]] = (told[1], told[2])
    return found


def of_panels() -> Iterator[Asked]:
    for dashboard in dashboards().values():
        title = dashboard["title"].removeprefix("sager-streams: ")
        for panel in panels(dashboard):
            for target in panel["targets"]:
                yield Asked(title, panel["title"], target["expr"], panel["fieldConfig"]["defaults"]["unit"])


def of_annotations() -> Iterator[Asked]:
    for dashboard in dashboards().values():
        for annotation in dashboard["annotations"]["list"]:
            yield Asked(dashboard["title"].removeprefix("sager-streams: "), annotation["name"], annotation["expr"])


def of_alerts() -> Iterator[tuple[Alert, Asked]]:
    """What each alert compares with its limit: that there is something to compare is half of its truth."""
    for alert in ALERTS:
        yield alert, Asked("alerts", alert.name, alert.expr)


def filled(expr: str, values: Mapping[str, str]) -> str:
    """An expression with its variables replaced, as Grafana does before it asks; none may remain."""
    for name in sorted(values, key=len, reverse=True):
        expr = expr.replace(f"${name}", values[name])
    assert "$" not in expr, f"a variable without a value: {expr}"
    return expr
