"""The domains' global skills in a worker: a copy of a compacted topic of a handful of records.

It is no Faust GlobalTable: beside tables of another partition count, Faust 0.15.3's assignor never ends, and a
GlobalTable is recovered at every rebalance.
"""

from collections.abc import Mapping
from typing import cast

from operators.attributes import facts_named
from operators.evidence import fixed
from schemas import Attribute, BadRecord, Fact, GlobalSkill, Source, Tier, decode
from streams.kafka.follower import Follower
from streams.settings import Settings


class GlobalSkills:
    """The newest global skill per domain; empty until `start`."""

    def __init__(self, settings: Settings) -> None:
        self._held: dict[bytes, GlobalSkill] = {}
        self._usual: dict[bytes, dict[str, int]] = {}
        self._vocabulary: dict[bytes, tuple[Fact, ...]] = {}
        self._follower = Follower(
            settings, GlobalSkill.TOPIC, lambda message: self.take(message.key() or b"", message.value())
        )

    def start(self) -> None:
        """Read the topic to its end, then follow it."""
        self._follower.start()

    def take(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; the materializer reports invalid ones."""
        self._vocabulary.pop(key, None)
        if value is None:
            self._held.pop(key, None)
            self._usual.pop(key, None)
            return
        try:
            skill = decode(GlobalSkill, value)
        except BadRecord:
            return
        if skill.domain.encode() == key:
            self._held[key] = skill
            self._usual[key] = fixed(skill.usual)

    def template(self, domain: str) -> tuple[Attribute, ...]:
        """Return the lines that users without history start from (paper 2.3)."""
        skill = self._held.get(domain.encode())
        return tuple(_as_template(line) for line in skill.attributes) if skill else ()

    def shares(self, domain: str) -> Mapping[str, float]:
        """Return the share of the domain's users that hold each attribute, by its id."""
        skill = self._held.get(domain.encode())
        return skill.shares if skill else {}

    def usual(self, domain: str) -> Mapping[str, int]:
        """Return the share of taken items that have each fact, in 1/1024, by the attribute's id."""
        return self._usual.get(domain.encode(), {})

    def popularity(self, domain: str) -> Mapping[str, int]:
        """Return how many of the domain's users took an item lately, for the most popular items."""
        skill = self._held.get(domain.encode())
        return cast("Mapping[str, int]", skill.items) if skill else {}

    def vocabulary(self, domain: str) -> tuple[Fact, ...]:
        """Return the facts that words can name: of the template, and of its users' lines and items."""
        key = domain.encode()
        skill = self._held.get(key)
        if skill is None:
            return ()
        if key not in self._vocabulary:
            self._vocabulary[key] = facts_named(skill.attributes, skill.shares, skill.usual)
        return self._vocabulary[key]


def _as_template(line: Attribute) -> Attribute:
    """Return a line as a newcomer may start from it, whatever the record contains: unconfirmed and unpinned."""
    return line.model_copy(
        update={
            "source": Source.GLOBAL,
            "tier": min(line.tier, Tier.MEDIUM),
            "support": 0,
            "taken": 0,
            "expected": 0,
            "contradictions": 0,
            "confirmed_at": 0,
            "weakened_at": None,
            "pinned": False,
            "evidence": (),
        }
    )
