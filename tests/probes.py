"""Asks a process over HTTP what a supervisor and Prometheus ask it."""

import json
import urllib.request
from typing import Any
from urllib.error import HTTPError, URLError

from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import WAIT_SECONDS


def ask(port: int, path: str, token: str = "") -> tuple[int, Any]:
    """Status and body, decoded if it is JSON; status 0 where nobody answers."""
    shown = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=shown)
        with urllib.request.urlopen(asked, timeout=WAIT_SECONDS) as reply:
            status, kind, body = reply.status, reply.headers["Content-Type"], reply.read().decode()
    except HTTPError as refusal:
        with refusal:
            status, kind, body = refusal.code, refusal.headers["Content-Type"], refusal.read().decode()
    except (URLError, ConnectionError, TimeoutError):
        return 0, None
    return status, json.loads(body) if kind == "application/json" else body


def is_ready(port: int) -> bool:
    return ask(port, "/ready")[0] == 200


def why_not(port: int, path: str = "/ready") -> list[str]:
    """The reasons; none where all is well or nobody answers."""
    body = ask(port, path)[1]
    return body["reasons"] if body else []


def metric(port: int, name: str, **labels: str) -> float:
    """The sum of a metric's samples that have these labels; -1 where nobody answers."""
    status, text = ask(port, "/metrics")
    if status != 200:
        return -1.0
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
