"""Global skills and ranking weights, followed on their compacted topics.

They are no Faust GlobalTables: with tables of another partition count, Faust 0.15.3's assignor does not terminate, and
a GlobalTable is recovered at every rebalance.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from operators.attributes import facts_of_ids
from operators.learning.evidence import to_fixed_point
from operators.seals import SealState, check_seal
from operators.weights import DEFAULT_WEIGHTS, RankWeights, rank_weights
from schemas import Attribute, AttributeSource, BadRecord, Fact, GlobalSkill, Tier, Weights, decode
from streams.kafka.follower import Follower
from streams.settings import Settings

logger = logging.getLogger("sager.worker")


@dataclass(frozen=True)
class KnownPopulation:
    """A domain's global skill in the forms that steps read."""

    # The lines that users without history start from (paper 2.3).
    template: tuple[Attribute, ...] = ()
    # The share of the domain's users per attribute id.
    shares: Mapping[str, float] = field(default_factory=dict)
    # Each fact's share of taken items, in 1/1024, by attribute id.
    usual: Mapping[str, int] = field(default_factory=dict)
    # How many users took each of the most popular items lately.
    popularity: Mapping[str, int] = field(default_factory=dict)
    # The facts of the template, and of the lines and items of its users.
    vocabulary: tuple[Fact, ...] = ()


class GlobalSkills(Follower):
    """The newest global skill per domain; empty until `start`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, GlobalSkill.TOPIC, lambda message: self.take(message.key() or b"", message.value()))
        self._held: dict[bytes, KnownPopulation] = {}

    def take(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; the materializer reports invalid ones."""
        if value is None:
            self._held.pop(key, None)
            return
        try:
            skill = decode(GlobalSkill, value)
        except BadRecord:
            return
        if skill.domain.encode() == key:
            self._held[key] = KnownPopulation(
                tuple(map(_as_template, skill.attributes)),
                skill.shares,
                to_fixed_point(skill.usual),
                cast("Mapping[str, int]", skill.items),
                facts_of_ids(skill.attributes, skill.shares, skill.usual),
            )

    def of(self, domain: str) -> KnownPopulation:
        """Return the population of a domain."""
        return self._held.get(domain.encode(), NO_POPULATION)


NO_POPULATION = KnownPopulation()


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
    """Return a record's weights; None if they or their seal are invalid."""
    try:
        weights = decode(Weights, value)
    except BadRecord as error:
        logger.warning("ignoring invalid weights: %s", error)
        return None
    if (seal := check_seal(weights, key)) is SealState.RIGHT:
        return weights
    logger.warning("ignoring the weights of %r, version %d: their seal is %s", weights.domain, weights.version, seal)
    return None
