"""Prometheus' rule files, out of the alerts: one per group, so that a group's unit tests evaluate nothing else."""

import json

from infra.monitoring.alert import Alert
from infra.monitoring.alerts import GROUPS

HEADER = """\
# Made by `make dashboards` out of infra/monitoring/alerts.py; docs/runbook.md tells what to do about each.
groups:
"""


def rules(group: str) -> str:
    """A group's file, in YAML."""
    return f"{HEADER}  - name: sager-{group}\n    rules:\n" + "\n".join(map(_rule, GROUPS[group]))


def runbook(alert: Alert) -> str:
    """Where the runbook tells of it, within this repository."""
    return f"docs/runbook.md#{alert.name.lower()}"


def _rule(alert: Alert) -> str:
    # A JSON string is a YAML string too.
    return (
        f"      - alert: {alert.name}\n"
        f"        expr: {json.dumps(alert.condition)}\n"
        f"        for: {alert.lasting}\n"
        f"        labels: {{severity: {alert.severity}}}\n"
        f"        annotations:\n"
        f"          summary: {json.dumps(alert.summary)}\n"
        f"          description: {json.dumps(alert.description)}\n"
        f"          runbook: {runbook(alert)}\n"
    )
