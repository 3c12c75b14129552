"""Waits for conditions, and asks processes over HTTP as a supervisor and Prometheus do."""

import json
import time
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError

from prometheus_client.parser import text_string_to_metric_families

T = TypeVar("T")

# Far more than any wait takes on a busy machine: a passing test never waits this long.
WAIT_SECONDS = 180.0


def until(done: Callable[[], T], what: str, told: Callable[[], str] = str, pause_seconds: float = 0.05) -> T:
    """Call `done` until its result is true, and return the result; `told` adds details to the failure."""
    give_up = time.monotonic() + WAIT_SECONDS
    while not (answer := done()):
        assert time.monotonic() < give_up, f"waited {WAIT_SECONDS:.0f} s for {what}\n{told()}"
        time.sleep(pause_seconds)
    return answer


def ask(port: int, path: str, token: str = "") -> tuple[int, Any]:
    """Status and body, decoded if it is JSON; status 0 without an answer."""
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
    """The reasons; empty if ready or without an answer."""
    body = ask(port, path)[1]
    return body["reasons"] if body else []


def metric(port: int, name: str, **labels: str) -> float:
    """The sum of a metric's samples that have these labels; -1 without an answer."""
    status, text = ask(port, "/metrics")
    if status != 200:
        return -1.0
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
