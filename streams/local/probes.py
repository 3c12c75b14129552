"""Health and metrics of a child process over HTTP, as `streams.http.process_health` serves them."""

import json
import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

SECONDS = 2.0


def why_not_ready(address: str) -> str:
    """Why the process is not ready yet; empty once it is.

    Args:
        address: such as `http://127.0.0.1:9101`.
    """
    try:
        with urllib.request.urlopen(f"{address}/ready", timeout=SECONDS):  # noqa: S310 - our own child's address  # nosec B310
            return ""
    except urllib.error.HTTPError as refusal:
        with refusal:
            return ", ".join(json.load(refusal)["reasons"])
    except OSError:
        return "it does not answer"


def committed_records(address: str) -> float | None:
    """How many records a materializer has committed since its start; None if it does not answer."""
    try:
        with urllib.request.urlopen(f"{address}/metrics", timeout=SECONDS) as answer:  # noqa: S310 - our own child's address  # nosec B310
            text: str = answer.read().decode()
    except OSError:
        return None
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "sager_materializer_records_total"
    )
