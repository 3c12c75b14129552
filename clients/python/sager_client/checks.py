"""Warnings about valid events that teach nothing, each kind logged once per producer."""

import logging

from .schemas import Candidate, Event, Feedback, Signal

MAX_WARNINGS = 1_000
"""An app may invent signal names without end."""

logger = logging.getLogger("sager_client")


class EventChecks:
    """Finds doubtful events and logs one warning per kind; `POST /v1/events/lint` runs the pipeline's steps on them."""

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def check(self, event: Event) -> None:
        """Log a warning if the event is doubtful in a way that was not logged before."""
        found = [getattr(event, "item", None), *getattr(event, "candidates", ()), *getattr(event, "items", ())]
        items = [item for item in found if isinstance(item, Candidate)]
        if bare := sum(not item.metadata for item in items):
            self._warn(
                event.TOPIC,
                f"{event.TOPIC}: {bare} of {len(items)} items without metadata. Nothing can be learned from such an "
                "item: send its facts in metadata, such as {'genres': ['Sci-Fi'], 'year': 2016}",
            )
        if isinstance(event, Feedback) and event.signal not in list(Signal):
            self._warn(
                f"signal {event.signal}",
                f"feedback: no built-in signal is called {event.signal!r}. It counts only if SAGER_SIGNALS of the "
                f"workers gives it a weight; built in are {', '.join(Signal)}",
            )

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(kind)
            logger.warning(text)
