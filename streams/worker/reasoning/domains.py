"""Global skills and ranking weights of the domains, followed on their compacted topics.

They are no Faust GlobalTables: with tables of another partition count, Faust 0.15.3's assignor does not terminate, and
a GlobalTable is recovered at every rebalance.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple, cast

from operators.attributes import facts_of_ids
from operators.learning.evidence import to_fixed_point
from operators.seals import SealState, check_seal
from operators.weights import DEFAULT_WEIGHTS, RankWeights, rank_weights
from schemas import Attribute, AttributeSource, BadRecord, Fact, GlobalSkill, Tier, Weights, decode
from streams.kafka.follower import Follower
from streams.settings import Settings

logger = logging.getLogger("sager.worker")


class GlobalSkills(Follower):
    """The newest global skill per domain; empty until `start`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, GlobalSkill.TOPIC, lambda message: self.take(message.key() or b"", message.value()))
        self._held: dict[bytes, GlobalSkill] = {}
        self._usual: dict[bytes, dict[str, int]] = {}
        self._vocabulary: dict[bytes, tuple[Fact, ...]] = {}

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
            self._usual[key] = to_fixed_point(skill.usual)

    def template(self, domain: str) -> tuple[Attribute, ...]:
        """Return the lines that users without history start from (paper 2.3)."""
        skill = self._held.get(domain.encode())
        return tuple(_as_template(line) for line in skill.attributes) if skill else ()

    def shares(self, domain: str) -> Mapping[str, float]:
        """Return the share of the domain's users that hold each attribute, by its id."""
        skill = self._held.get(domain.encode())
        return skill.shares if skill else {}

    def usual(self, domain: str) -> Mapping[str, int]:
        """Return each fact's share of taken items, in 1/1024, by attribute id."""
        return self._usual.get(domain.encode(), {})

    def popularity(self, domain: str) -> Mapping[str, int]:
        """Return the number of users who took an item lately, for the most popular items."""
        skill = self._held.get(domain.encode())
        return cast("Mapping[str, int]", skill.items) if skill else {}

    def vocabulary(self, domain: str) -> tuple[Fact, ...]:
        """Return the facts of the template, and of the lines and items of its users."""
        key = domain.encode()
        skill = self._held.get(key)
        if skill is None:
            return ()
        if key not in self._vocabulary:
            self._vocabulary[key] = facts_of_ids(skill.attributes, skill.shares, skill.usual)
        return self._vocabulary[key]


def _as_template(line: Attribute) -> Attribute:
    """Return a line without evidence, confirmation or pin, whatever the record contains."""
    return line.model_copy(
        update={
            "source": AttributeSource.GLOBAL,
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


class DomainWeights(NamedTuple):
    """A domain's weights and their version, which is 0 before any learning."""

    weights: RankWeights
    version: int


START_WEIGHTS = DomainWeights(DEFAULT_WEIGHTS, 0)


class LearnedWeights(Follower):
    """The newest sealed weights per domain; empty until `start`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Weights.TOPIC, lambda message: self.take(message.key() or b"", message.value()))
        self._held: dict[bytes, DomainWeights] = {}
        self._key = settings.chain_key_bytes

    def take(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; the materializer reports invalid ones."""
        if value is None:
            self._held.pop(key, None)
            return
        weights = verified_weights(value, self._key)
        if weights is not None and weights.domain.encode() == key:
            self._held[key] = DomainWeights(rank_weights(weights), weights.version)

    def of(self, domain: str) -> DomainWeights:
        """Return the weights of a domain."""
        return self._held.get(domain.encode(), START_WEIGHTS)


def verified_weights(value: bytes, key: bytes) -> Weights | None:
    """Return the weights in a record; None if they or their seal are invalid."""
    try:
        weights = decode(Weights, value)
    except BadRecord as error:
        logger.warning("ignoring invalid weights: %s", error)
        return None
    if (seal := check_seal(weights, key)) is SealState.RIGHT:
        return weights
    logger.warning("ignoring the weights of %r, version %d: their seal is %s", weights.domain, weights.version, seal)
    return None
