"""Findings of checks, and their time limit."""

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The severity: an error stops the pipeline, a warning may."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class DoctorFinding:
    """A check's finding; `todo` is the remedy, if any."""

    check: str
    status: Status
    found: str
    todo: str = ""


def ok(check: str, found: str) -> DoctorFinding:
    """Return a finding without a problem."""
    return DoctorFinding(check, Status.OK, found)


def warning(check: str, found: str, todo: str) -> DoctorFinding:
    """Return a finding of a risk."""
    return DoctorFinding(check, Status.WARNING, found, todo)


def error(check: str, found: str, todo: str) -> DoctorFinding:
    """Return a finding of a failure."""
    return DoctorFinding(check, Status.ERROR, found, todo)


class TimedCheck:
    """A check that runs in a thread, with a time limit."""

    # A plain thread, because an executor would wait for a check that hangs.

    def __init__(self, name: str, check: Callable[[], Iterable[DoctorFinding]], seconds: float) -> None:
        self._name, self._check, self._seconds = name, check, seconds
        self._answer: queue.Queue[list[DoctorFinding]] = queue.Queue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            found = list(self._check())
        except Exception as failed:  # a failed check must not fail the others
            found = [error(self._name, f"{type(failed).__name__}: {failed}"[:500], "see the message")]
        self._answer.put(found)

    def findings(self) -> list[DoctorFinding]:
        """Wait for the findings; return an error after the time limit."""
        try:
            return self._answer.get(timeout=self._seconds)
        except queue.Empty:
            todo = "check the service that it queries; try again"
            return [error(self._name, f"no answer within {self._seconds:.0f} s", todo)]
