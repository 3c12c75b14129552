"""Warnings about valid events that teach nothing, each kind logged once per producer."""

import logging
import re
from typing import Any

from .schemas import Candidate, Event, Feedback, Signal

logger = logging.getLogger("sager_client")

MAX_NAMES = 1_000
"""Bounds the user ids and domains that a producer remembers to notice swapped arguments."""
MANY_DOMAINS = 20
PARSERS = frozenset({"books", "generic", "movietv", "yelp"})
"""Names that are domains in every deployment."""
SIGNALS = frozenset(Signal)
_LIKE_A_USER = re.compile(r"\d+|[0-9a-f-]{24,}|(?:user|person|customer|member|account)s?[-_.]?\d+")
SWAPPED = (
    "user and domain look swapped: the order is user_id, domain, and a domain names a kind of items, such as 'films'"
)


class EventChecks:
    """Finds doubtful events and logs one warning per kind; `sager lint` runs the pipeline's own steps on them."""

    def __init__(self) -> None:
        self._warned: set[str] = set()
        self._users: set[str] = set()
        self._domains: set[str] = set()

    def check(self, event: Event) -> None:
        """Log a warning if the event is doubtful in a way that was not logged before."""
        bare, count = _without_metadata(event)
        if bare:
            self._warn(
                f"metadata-{event.TOPIC}",
                f"{event.TOPIC}: {bare} of {count} items without metadata. Nothing can be learned from such an item: "
                "send its facts in metadata, such as {'genres': ['Sci-Fi'], 'year': 2016}",
            )
        if isinstance(event, Feedback) and event.signal not in SIGNALS:
            self._warn(
                f"signal-{event.signal}",
                f"feedback: no built-in signal is called {event.signal!r}. It counts only if SAGER_SIGNALS of the "
                f"workers gives it a weight; built in are {', '.join(Signal)}",
            )
        user, domain = getattr(event, "user_id", None), getattr(event, "domain", None)
        if domain is not None and self._look_swapped(user, domain):
            self._warn("swapped", SWAPPED)

    def _look_swapped(self, user: str | None, domain: str) -> bool:
        swapped = (
            domain in self._users
            or user in self._domains
            or user in PARSERS
            or _LIKE_A_USER.fullmatch(domain) is not None
        )
        if user is not None and len(self._users) < MAX_NAMES:
            self._users.add(user)
        if len(self._domains) < MAX_NAMES:
            self._domains.add(domain)
        # Apps have more users than kinds of items.
        return swapped or (len(self._domains) > MANY_DOMAINS and len(self._domains) > len(self._users))

    def _warn(self, kind: str, text: str) -> None:
        # An app may invent signal names without end.
        if kind not in self._warned and len(self._warned) < MAX_NAMES:
            self._warned.add(kind)
            logger.warning(text)


def _without_metadata(event: Event) -> tuple[int, int]:
    """Return how many items of an event have no metadata, and how many it has."""
    found: list[Any] = [getattr(event, "item", None), *getattr(event, "candidates", ()), *getattr(event, "items", ())]
    items = [item for item in found if isinstance(item, Candidate)]
    return sum(not item.metadata for item in items), len(items)
