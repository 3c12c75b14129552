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


def next_offsets(address: str) -> dict[str, int] | None:
    """The next offset that a materializer reads, by topic, summed over its partitions; None if it does not answer."""
    try:
        with urllib.request.urlopen(f"{address}/metrics", timeout=SECONDS) as answer:  # noqa: S310 - our own child's address  # nosec B310
            text: str = answer.read().decode()
    except OSError:
        return None
    return {
        sample.labels["topic"]: int(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "sager_materializer_next_offset"
    }


def answers(url: str) -> bool:
    """Whether the HTTP API answers at this address."""
    try:
        with urllib.request.urlopen(f"{url}/openapi.json", timeout=SECONDS):  # noqa: S310 - our own child's address  # nosec B310
            return True
    except OSError:
        return False


def console_link(url: str, token: str) -> str | None:
    """The path that signs in to the console once; None if the server gives none.

    Args:
        url: the server's address.
        token: whose holder signs in.
    """
    asked = urllib.request.Request(f"{url}/v1/console/links", b"{}", method="POST")  # noqa: S310 - our own child's address
    asked.add_header("Authorization", f"Bearer {token}")
    asked.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:  # noqa: S310 - our own child's address  # nosec B310
            path: str = json.load(answer)["path"]
    except OSError:
        return None
    return path
