"""What an examination finds: one line each, with what to do about it; and the bound that no check exceeds."""

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How it stands: an error keeps the pipeline from working, a warning will or may."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """One line of the examination.

    Attributes:
        check: what was looked at.
        status: how it stands.
        found: what there is, in numbers where there are any.
        todo: what to do about it; empty where nothing is to be done.
    """

    check: str
    status: Status
    found: str
    todo: str = ""


def ok(check: str, found: str) -> Finding:
    """As it should be."""
    return Finding(check, Status.OK, found)


def warning(check: str, found: str, todo: str) -> Finding:
    """It works, but not for long or not for all."""
    return Finding(check, Status.WARNING, found, todo)


def error(check: str, found: str, todo: str) -> Finding:
    """It does not work."""
    return Finding(check, Status.ERROR, found, todo)


class Bounded:
    """A check that has been started, and is waited for no longer than its time.

    Args:
        name: the check, for the finding where it does not come to an end.
        check: gives its findings. Left behind in its thread, which ends with the process, if it takes too long.
        seconds: how long it may take from now on.
    """

    def __init__(self, name: str, check: Callable[[], Iterable[Finding]], seconds: float) -> None:
        self._name, self._seconds = name, seconds
        self._answer: queue.Queue[list[Finding]] = queue.Queue()
        self._check = check
        threading.Thread(target=self._run, name=f"doctor-{name}", daemon=True).start()

    def _run(self) -> None:
        try:
            found = list(self._check())
        except Exception as failed:  # one check that fails must not take the others with it
            found = [error(self._name, f"{type(failed).__name__}: {failed}"[:500], "see the message")]
        self._answer.put(found)

    def findings(self) -> list[Finding]:
        """What it has found, or that it did not come to an end."""
        try:
            return self._answer.get(timeout=self._seconds)
        except queue.Empty:
            return [error(self._name, f"no answer within {self._seconds:.0f} s", "look at what it asks; try again")]
