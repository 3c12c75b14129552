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
class DoctorFinding:
    """One line of an examination; `todo` says what to do about it, if anything."""

    check: str
    status: Status
    found: str
    todo: str = ""


def ok(check: str, found: str) -> DoctorFinding:
    """Make a finding without a problem."""
    return DoctorFinding(check, Status.OK, found)


def warning(check: str, found: str, todo: str) -> DoctorFinding:
    """Make a finding that works, but not for long or not for all."""
    return DoctorFinding(check, Status.WARNING, found, todo)


def error(check: str, found: str, todo: str) -> DoctorFinding:
    """Make a finding that does not work."""
    return DoctorFinding(check, Status.ERROR, found, todo)


class TimedCheck:
    """A check that runs in a thread from now on, with a time limit; an executor would wait for one that hangs."""

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
        """Wait for its findings; past the time limit, return an error."""
        try:
            return self._answer.get(timeout=self._seconds)
        except queue.Empty:
            todo = "check the service that it queries; try again"
            return [error(self._name, f"no answer within {self._seconds:.0f} s", todo)]
