"""Dashboards, alerts and the runbook use existing metrics and the same limits."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.test_contract_docs import exported, series, table
from tests.prometheus import promtool

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.models import units

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "infra" / "prometheus"
RUNBOOK = ROOT / "docs" / "runbook.md"
# Prometheus and its Python client export these by themselves.
OF_PROCESSES = {
    "up", "process_start_time_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes",
    "process_open_fds", "process_max_fds",
}  # fmt: skip
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True)
class Alert:
    """An alert of the rule files: `(expr) op limit`, lasting for some time."""

    name: str
    severity: str
    expr: str
    op: str
    limit: float
    lasting: str
    runbook: str


def _alerts() -> Iterator[Alert]:
    for group in yaml.safe_load((PROMETHEUS / "rules" / "sager.yml").read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            parts = re.fullmatch(r"\((.+)\) (>=|<) (\S+)", rule["expr"])
            assert parts, f"{rule['alert']} is not `(expr) op limit`, which panels draw"
            of = (rule["labels"]["severity"], parts[1], parts[2], float(parts[3]))
            yield Alert(rule["alert"], *of, rule["for"], rule["annotations"]["runbook"])


def dashboards() -> dict[str, dict[str, Any]]:
    return {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted((ROOT / "infra" / "grafana" / "dashboards").glob("*.json"))
    }


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


ALERTS = tuple(_alerts())
BOARDS = dashboards()


@pytest.fixture(params=sorted(BOARDS))
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BOARDS[request.param]


def panel_queries() -> list[str]:
    found = [panel for board in BOARDS.values() for panel in panels(board)]
    return [target["expr"] for panel in found for target in panel["targets"]]


def test_panels_have_a_description_a_unit_and_legends(board: dict[str, Any]) -> None:
    known = {value for name, value in vars(units).items() if isinstance(value, str) and not name.startswith("_")}
    for panel in panels(board):
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"] in known, panel["title"]
        assert len(panel["description"]) > 40, panel["title"]
        assert panel["datasource"] == SOURCE
        assert all(target["datasource"] == SOURCE and target["legendFormat"] for target in panel["targets"])
        assert all(count == 1 for count in Counter(target["refId"] for target in panel["targets"]).values())


def test_queries_use_existing_metrics() -> None:
    annotations = [each["expr"] for board in BOARDS.values() for each in board["annotations"]["list"]]
    queries = [*panel_queries(), *annotations, *(alert.expr for alert in ALERTS)]
    named = {name for each in queries for name in re.findall(r"\b(?:sager|process)_\w+|\bup\b", each)}

    assert named - series() - OF_PROCESSES == set()


def test_every_metric_is_on_a_dashboard() -> None:
    # Webhooks are few, and /ready names the one that fails. `sager up` reads the next offsets when it ends.
    shown = " ".join(panel_queries())
    unseen = {name for name in exported() if name not in shown and not name.startswith("sager_webhook_")}

    assert unseen == {"sager_build_info", "sager_materializer_next_offset"}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_has_a_threshold_line_tests_and_a_runbook(alert: Alert) -> None:
    lines = [
        step
        for board in BOARDS.values()
        for panel in panels(board)
        if f"{alert.name} ({alert.runbook})" in panel["description"]
        for step in coloured(panel)
    ]
    tests = "".join(file.read_text() for file in (PROMETHEUS / "tests").glob("*.yml"))

    assert (alert.limit, alert.op) in [(limit, op) for limit, op, _ in lines]
    assert alert.severity != "critical" or (alert.limit, alert.op, "red") in lines
    assert alert.name in tests
    assert section(alert.name).count("\n- ") >= 2, "a runbook section needs causes and actions"


def coloured(panel: dict[str, Any]) -> Iterator[tuple[float, str, str]]:
    for below, step in pairwise(panel["fieldConfig"]["defaults"]["thresholds"]["steps"]):
        yield (step["value"], "<", below["color"]) if step["color"] == "green" else (step["value"], ">=", step["color"])


def section(name: str) -> str:
    return RUNBOOK.read_text(encoding="utf-8").partition(f"\n### {name}\n")[2].partition("\n#")[0]


def test_the_runbook_lists_the_alerts() -> None:
    names = [alert.name for alert in ALERTS]

    assert re.findall(r"^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE) == names
    assert [
        (row[0], row[1], row[3].removesuffix(" |").replace("at once", "0m")) for row in table(RUNBOOK, "alert")
    ] == [(f"[{alert.name}](#{alert.name.lower()})", alert.severity, alert.lasting) for alert in ALERTS]


def test_alerts_pass_their_promtool_tests() -> None:
    tested = promtool("test", "rules", *sorted((PROMETHEUS / "tests").glob("*.yml")))

    assert tested.returncode == 0, tested.stdout + tested.stderr
