"""Dashboards, alerts and their runbook: of Grafana's schema, of metrics that exist, and with the same limits."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_contract_docs import exported, series, table
from tests.dashboards import (
    ALERTS,
    FOLDER,
    GROUPS,
    ROOT,
    RULES,
    Alert,
    Asked,
    dashboards,
    of_alerts,
    of_annotations,
    of_panels,
    panels,
)
from tests.prometheus import promtool

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import units
    from grafana_foundation_sdk.models.dashboard import Dashboard

PROMETHEUS = ROOT / "infra" / "prometheus"
RUNBOOK = ROOT / "docs" / "runbook.md"
PEOPLE = FOLDER.parent / "people" / "dashboards"
"""Apart from the others: they name people."""
BOARDS = dashboards()
OF_PROCESSES = {
    "up", "process_start_time_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes",
    "process_open_fds", "process_max_fds",
}  # fmt: skip
"""What Prometheus and its client tell by themselves."""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@pytest.fixture(params=sorted(BOARDS))
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BOARDS[request.param]


def asked() -> Iterator[Asked]:
    yield from of_panels()
    yield from of_annotations()
    yield from (each for _, each in of_alerts())


# --- of Grafana's schema


def test_every_rule_file_is_checked() -> None:
    assert {path.stem for path in RULES.glob("*.yml")} == set(GROUPS)


def test_grafanas_types_know_every_key(board: dict[str, Any]) -> None:
    """A key or a value that they do not know is lost on the way through them."""
    plugins.register_default_plugins()
    again = json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))
    for each in (*again["links"], *again["annotations"]["list"]):
        assert each.pop("placement") == "inControlsMenu", "what they fill in, and we leave out"

    assert again == board


def test_a_misspelt_key_does_not_come_back() -> None:
    broken = json.loads(json.dumps(BOARDS["pipeline"]).replace('"legendFormat"', '"legendFromat"'))
    plugins.register_default_plugins()

    assert json.loads(json.dumps(Dashboard.from_json(broken), cls=JSONEncoder)) != broken


# --- for whoever looks at them


def test_every_panel_says_what_it_shows_in_which_unit_and_what_to_do(board: dict[str, Any]) -> None:
    known = {value for name, value in vars(units).items() if isinstance(value, str) and not name.startswith("_")}
    for panel in panels(board):
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"] in known, panel["title"]
        assert len(panel["description"]) > 40, panel["title"]
        assert panel["datasource"] == SOURCE
        assert all(target["datasource"] == SOURCE and target["legendFormat"] for target in panel["targets"])
        assert all(count == 1 for count in Counter(target["refId"] for target in panel["targets"]).values())


def test_ids_are_unique_and_panels_do_not_lie_on_each_other(board: dict[str, Any]) -> None:
    ids = [panel["id"] for panel in board["panels"]]
    places = [panel["gridPos"] for panel in board["panels"]]

    assert len(set(ids)) == len(ids)
    assert len({panel["title"] for panel in panels(board)}) == len(panels(board))
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert not [pair for pair in combinations(places, 2) if overlap(*pair)]
    assert len(panels(board)) <= 20


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


def test_dashboards_hang_together(board: dict[str, Any]) -> None:
    (link,) = board["links"]

    assert len({one["uid"] for one in BOARDS.values()}) == len(BOARDS)
    assert board["editable"] is False
    assert link["tags"] == board["tags"] == ["sager"]
    assert link["includeVars"]
    assert link["keepTime"]
    assert {one["name"] for one in board["annotations"]["list"]} == {"restarts", "rebalances"}
    names = [variable["name"] for variable in board["templating"]["list"]]
    assert names[0] == "datasource"
    assert set(re.findall(r"\$(?!__)(\w+)", json.dumps(board["panels"]))) <= set(names)


# --- of metrics that exist


def test_every_metric_that_is_asked_for_exists() -> None:
    named = {name for each in asked() for name in re.findall(r"\b(?:sager|process)_\w+|\bup\b", each.expr)}

    assert named - series() - OF_PROCESSES == set()


OF_WEBHOOKS = "sager_webhook_"
"""They are few, and /ready names what fails."""


def test_every_metric_is_on_a_dashboard() -> None:
    """Two metrics are for queries by hand, and `sager up` reads the next offsets when it ends."""
    shown = " ".join(each.expr for each in of_panels())
    unseen = {name for name in exported() if name not in shown and not name.startswith(OF_WEBHOOKS)}

    assert unseen == {
        "sager_build_info", "sager_materializer_newest_record_timestamp_seconds", "sager_materializer_next_offset",
    }  # fmt: skip


def test_only_counters_have_a_rate() -> None:
    rated = {name for each in asked() for name in re.findall(r"\b(?:rate|increase|irate)\((\w+)", each.expr)}

    assert rated
    assert {name for name in rated if not name.endswith(("_total", "_count", "_sum", "_bucket"))} == set()


def test_no_window_is_shorter_than_what_grafana_knows_to_be_enough() -> None:
    windows = {window for each in of_panels() for window in re.findall(r"\[(.+?)\]", each.expr)}

    assert windows == {"$__rate_interval", "$window", "15m", "30m", "1h", "1d"}


# --- alerts


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_has_its_red_line_its_tests_and_its_runbook(alert: Alert) -> None:
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
    assert section(alert.name).count("\n- ") >= 2, "a runbook tells where to look, and what to do"


def coloured(panel: dict[str, Any]) -> Iterator[tuple[float, str, str]]:
    """The limits that are drawn, each as an alert would compare, and the colour on the bad side of it."""
    for below, step in pairwise(panel["fieldConfig"]["defaults"]["thresholds"]["steps"]):
        yield (step["value"], "<", below["color"]) if step["color"] == "green" else (step["value"], ">=", step["color"])


def section(name: str) -> str:
    return RUNBOOK.read_text(encoding="utf-8").partition(f"\n### {name}\n")[2].partition("\n#")[0]


def test_the_runbook_knows_every_alert_and_no_other() -> None:
    names = [alert.name for alert in ALERTS]

    assert re.findall(r"^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE) == names
    assert [
        (row[0], row[1], row[3].removesuffix(" |").replace("at once", "0m")) for row in table(RUNBOOK, "alert")
    ] == [(f"[{alert.name}](#{alert.name.lower()})", alert.severity, alert.lasting) for alert in ALERTS]


def test_prometheus_takes_its_configuration_and_rules() -> None:
    checked = promtool("check", "config", PROMETHEUS / "prometheus.yml")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert sum(map(int, re.findall(r"(\d+) rules found", checked.stdout))) == len(ALERTS)


def test_every_alert_fires_at_its_limit_and_not_just_under_it() -> None:
    tested = promtool("test", "rules", *sorted((PROMETHEUS / "tests").glob("*.yml")))

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_moved_limit_is_found(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "tests").mkdir()
    told = (RULES / "duckdb.yml").read_text(encoding="utf-8")
    (tmp_path / "rules" / "duckdb.yml").write_text(told.replace(" < 1073741824", " < 1073741825"), encoding="utf-8")
    moved = tmp_path / "tests" / "duckdb.yml"
    moved.write_bytes((PROMETHEUS / "tests" / "duckdb.yml").read_bytes())

    tested = promtool("test", "rules", moved)

    assert tested.returncode == 1
    assert "SagerDiskFull" in tested.stdout + tested.stderr
