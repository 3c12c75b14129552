"""The facts that a worker met lately in what was shown, so that words can name them where nobody built a template."""

from collections.abc import Iterable

from schemas import Fact
from streams.lru import LruCache

MAX_DOMAINS = 64
MAX_FACTS_MET = 1_024
"""Per domain; those that were met longest ago go first."""
MAX_WORDS = 4
"""Nobody names a longer value in passing."""


class Met:
    """Facts of items by domain, in memory only: what nobody meets any more is forgotten, and all at a restart.

    They are what the parsers found and the privacy filter left, so no more than what corrections bring along
    themselves. What may go out of a statement about one is decided where it does.
    """

    def __init__(self) -> None:
        self._domains: LruCache[str, LruCache[Fact, Fact]] = LruCache(MAX_DOMAINS)

    def note(self, domain: str, facts: Iterable[Fact]) -> None:
        """Hold the facts of an item as just met."""
        held = self._domains.get(domain)
        if held is None:
            held = LruCache(MAX_FACTS_MET)
            self._domains.put(domain, held)
        for fact in facts:
            if fact.value.count(" ") < MAX_WORDS:
                held.put(fact, fact)

    def facts(self, domain: str) -> tuple[Fact, ...]:
        """The facts met in a domain, those met last at the end."""
        held = self._domains.get(domain)
        return () if held is None else held.values()
