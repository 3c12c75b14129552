"""Child processes: start, end, logs, health and metrics."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from streams import permissions
from streams.settings import Settings

MAX_LOG_BYTES, HTTP_SECONDS = 10 * 1024 * 1024, 2.0
_PR_SET_PDEATHSIG = 1
_PARENT = "SAGER_PARENT_PID"
_ROOT = Path(__file__).resolve().parents[2]


def environment(settings: Settings) -> dict[str, str]:
    """Return this environment with the explicit values of `settings` alone."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("SAGER_") and name.upper() not in ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    }
    values = {name: getattr(settings, name) for name in sorted(settings.model_fields_set)}
    return {
        **inherited,
        **{f"SAGER_{name.upper()}": _as_text(value) for name, value in values.items() if value is not None},
        # A folder `streams` in the current folder would be imported instead of this package.
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")])),
        _PARENT: str(os.getpid()),
    }


def _as_text(value: Any) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool | dict):
        return json.dumps(value, default=asdict)  # declared numbers are data classes
    return str(value.value if isinstance(value, Enum) else value)


def start_child(
    args: Sequence[str],
    settings: Settings,
    log: Path,
    inherited_fds: Sequence[int] = (),
    *,
    module: str = "streams.cli",
    piped: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `sager ARGS`, or another module, as a child process.

    The child ends with this process. Its output goes to the log; if `piped`, its stdin and stdout are pipes.
    """
    with open_log(log) as out:
        return subprocess.Popen(  # noqa: S603 - ourselves, no shell
            [sys.executable, "-P", "-m", module, *args],
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE if piped else out,
            stderr=out,
            env=environment(settings),  # secrets on the command line would show in `ps`
            process_group=0,  # Ctrl-C must reach us alone: we end the children in order
            pass_fds=inherited_fds,
        )


def signal_on_parent_exit(number: signal.Signals = signal.SIGKILL) -> None:
    """Request a signal when the thread that started us ends; Linux only."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number)


def die_with_parent() -> None:
    """Request a SIGTERM when the process that called `start_child` ends; Linux only."""
    parent = os.environ.pop(_PARENT, "")
    if parent and sys.platform.startswith("linux"):
        signal_on_parent_exit(signal.SIGTERM)
        if os.getppid() != int(parent):  # the parent ended before the request
            raise SystemExit(1)


def end_child(process: subprocess.Popen[bytes] | None, seconds: float) -> None:
    """Terminate a process, and kill it after this time."""
    if process is None:
        return
    if process.poll() is None and seconds:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    if process.poll() is None:
        process.kill()
    process.wait(5)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


@contextmanager
def open_log(log: Path) -> Iterator[int]:
    """Open a private log for a child's output; rotate a large one."""
    permissions.make_private(log.parent)
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.fchmod(file, 0o600)
        yield file
    finally:
        os.close(file)


def _get(request: str | urllib.request.Request) -> str:
    with urllib.request.urlopen(request, timeout=HTTP_SECONDS) as answer:  # noqa: S310 - our own child's address  # nosec B310
        text: str = answer.read().decode()
        return text


def why_not_ready(url: str) -> str:
    """Return why a process is not ready; empty once it is."""
    try:
        _get(url)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return ", ".join(json.load(refusal)["reasons"])
    except OSError:
        return "it does not answer"
    return ""


def materializer_offsets(address: str) -> dict[str, int] | None:
    """Return the materializer's next offsets, summed by topic; None without an answer."""
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
    """Return a one-time console link; None if the token is refused."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/console/links", b"{}", headers, method="POST")  # noqa: S310 - as above
    try:
        answer: dict[str, Any] = json.loads(_get(request))
    except OSError:
        return None
    return url + str(answer["path"])
