"""Waits for conditions, and asks processes over HTTP as a supervisor and Prometheus do."""

import json
import time
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError

from prometheus_client.parser import text_string_to_metric_families

T = TypeVar("T")

WAIT_SECONDS = 180.0
"""Far more than any of it takes on a machine that does a dozen other things. A passing test never waits so long."""


def until(done: Callable[[], T], what: str, told: Callable[[], str] = str, pause_seconds: float = 0.05) -> T:
    """Ask `done` until its answer is true, and return the answer.

    Args:
        done: what is asked again and again.
        what: is waited for; the failure names it.
        told: what else the failure tells, such as the end of logs.
        pause_seconds: between two questions.
    """
    give_up = time.monotonic() + WAIT_SECONDS
    while not (answer := done()):
        assert time.monotonic() < give_up, f"waited {WAIT_SECONDS:.0f} s for {what}\n{told()}"
        time.sleep(pause_seconds)
    return answer


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
