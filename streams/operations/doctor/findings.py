"""Findings, each one line with what to do about it, and the time limit of checks."""

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Severity: an error stops the pipeline, a warning will or may."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """One line of an examination.

    Attributes:
        check: what was checked.
        status: the severity.
        found: what was found, in numbers where possible.
        todo: what to do about it; empty if nothing.
    """

    check: str
    status: Status
    found: str
    todo: str = ""


def ok(check: str, found: str) -> Finding:
    """A finding without a problem."""
    return Finding(check, Status.OK, found)


def warning(check: str, found: str, todo: str) -> Finding:
    """A finding that works, but not for long or not for all."""
    return Finding(check, Status.WARNING, found, todo)


def error(check: str, found: str, todo: str) -> Finding:
    """A finding that does not work."""
    return Finding(check, Status.ERROR, found, todo)


class Bounded:
    """A check that runs in a thread, with a time limit.

    Args:
        name: the check's name, for the finding if it times out.
        check: returns its findings. If it takes too long it is left in its thread, which ends with the process.
        seconds: time limit from now on.
    """

    def __init__(self, name: str, check: Callable[[], Iterable[Finding]], seconds: float) -> None:
        self._name, self._seconds = name, seconds
        self._answer: queue.Queue[list[Finding]] = queue.Queue()
        self._check = check
        threading.Thread(target=self._run, name=f"doctor-{name}", daemon=True).start()

    def _run(self) -> None:
        try:
            found = list(self._check())
        except Exception as failed:  # a failed check must not fail the others
            found = [error(self._name, f"{type(failed).__name__}: {failed}"[:500], "see the message")]
        self._answer.put(found)

    def findings(self) -> list[Finding]:
        """Its findings, or one that says that it timed out."""
        try:
            return self._answer.get(timeout=self._seconds)
        except queue.Empty:
            return [
                error(
                    self._name,
                    f"no answer within {self._seconds:.0f} s",
                    "check the service that it queries; try again",
                )
            ]
