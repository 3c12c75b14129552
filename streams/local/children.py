"""Child processes: their log files, private and bounded, and their health and metrics over HTTP."""

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from streams import permissions

MAX_BYTES, SECONDS = 10 * 1024 * 1024, 2.0


@contextmanager
def open_log(log: Path) -> Iterator[int]:
    """Open a log for a child's output, readable by its owner alone."""
    permissions.make(log.parent)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.fchmod(file, 0o600)
        yield file
    finally:
        os.close(file)


def rotate_log(log: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Move the contents of a log that has grown too large to `NAME.log.1`, and return true if it had.

    The child keeps writing to the same file. A line that it writes at this moment can be missing from both.
    """
    if not log.exists() or log.stat().st_size <= max_bytes:
        return False
    older = log.with_name(f"{log.name}.1")
    shutil.copyfile(log, older)
    older.chmod(0o600)
    os.truncate(log, 0)
    return True


def _get(request: str | urllib.request.Request) -> str:
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - our own child's address  # nosec B310
        text: str = answer.read().decode()
        return text


def why_not_ready(url: str) -> str:
    """Return the reason why a process is not ready yet; empty once its address answers with 200."""
    try:
        _get(url)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return ", ".join(json.load(refusal)["reasons"])
    except OSError:
        return "it does not answer"
    return ""


def materializer_offsets(address: str) -> dict[str, int] | None:
    """Return the next offset that a materializer reads, summed over each topic's partitions; None without an answer."""
    try:
        families = text_string_to_metric_families(_get(f"{address}/metrics"))
    except OSError:
        return None
    return {
        sample.labels["topic"]: int(sample.value)
        for family in families
        for sample in family.samples
        if sample.name == "sager_materializer_next_offset"
    }


def console_link(url: str, token: str) -> str | None:
    """Return the address that signs in to the console once, with this token; None if the server gives none."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/console/links", b"{}", headers, method="POST")  # noqa: S310 - as above
    try:
        answer: dict[str, Any] = json.loads(_get(request))
    except OSError:
        return None
    return url + str(answer["path"])
