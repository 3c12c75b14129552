"""Global skills and ranking weights, followed on their compacted topics.

They are no Faust GlobalTables: with tables of another partition count, Faust 0.15.3's assignor does not terminate, and
a GlobalTable is recovered at every rebalance.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar, cast

from operators.attributes import facts_of_ids
from operators.learning.evidence import to_fixed_point
from operators.numbers import start_weights
from operators.seals import SealState, check_seal
from operators.weights import RankWeights, rank_weights
from schemas import Attribute, AttributeSource, BadRecord, Fact, GlobalSkill, Tier, Weights, decode
from streams.kafka.follower import Follower
from streams.pseudonyms import secret_of
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


class DomainWeights(NamedTuple):
    """A domain's weights and their version, which is 0 before any learning."""

    weights: RankWeights
    version: int


ValueT = TypeVar("ValueT")


class DomainFollower(Follower, Generic[ValueT]):
    """The newest value of each domain's records; empty until `read_all`."""

    def __init__(
        self,
        settings: Settings,
        base: str,
        read: Callable[[bytes], tuple[str, ValueT] | None],
        default: Callable[[str], ValueT],
    ) -> None:
        super().__init__(settings, [base], lambda message: self.apply(message.key() or b"", message.value()))
        self._read_value, self._default = read, default
        self._values: dict[bytes, ValueT] = {}

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; the materializer reports invalid ones."""
        if value is None:
            self._values.pop(key, None)
            return
        found = self._read_value(value)
        if found is not None and found[0].encode() == key:
            self._values[key] = found[1]

    def get(self, domain: str) -> ValueT:
        """Return the value of a domain."""
        held = self._values.get(domain.encode())
        return self._default(domain) if held is None else held


def global_skills(settings: Settings) -> DomainFollower[KnownPopulation]:
    """Return the follower of the domains' global skills."""
    unknown = KnownPopulation()
    return DomainFollower(settings, GlobalSkill.TOPIC, _population, lambda _: unknown)


def learned_weights(settings: Settings) -> DomainFollower[DomainWeights]:
    """Return the follower of the domains' sealed weights."""
    secret = secret_of(settings)

    def starts(domain: str) -> dict[str, float]:
        return start_weights(settings.numbers.get(domain, {}))

    def unlearned(domain: str) -> DomainWeights:
        return DomainWeights(rank_weights(None, secret, starts(domain)), 0)

    def read(value: bytes) -> tuple[str, DomainWeights] | None:
        weights = verified_weights(value, settings.chain_key_bytes)
        if weights is None:
            return None
        return weights.domain, DomainWeights(rank_weights(weights, secret, starts(weights.domain)), weights.version)

    return DomainFollower(settings, Weights.TOPIC, read, unlearned)


def _population(value: bytes) -> tuple[str, KnownPopulation] | None:
    try:
        skill = decode(GlobalSkill, value)
    except BadRecord:
        return None
    return skill.domain, KnownPopulation(
        tuple(map(_as_template, skill.attributes)),
        skill.shares,
        to_fixed_point(skill.usual),
        cast("Mapping[str, int]", skill.items),
        facts_of_ids(skill.attributes, skill.shares, skill.usual),
    )


def _as_template(line: Attribute) -> Attribute:
    """Return a line without evidence, confirmation or pin, whatever the record contains."""
    about = {name: getattr(line, name) for name in ("attribute_id", "kind", "dimension", "value")}
    return Attribute(**about, source=AttributeSource.GLOBAL, tier=min(line.tier, Tier.MEDIUM))


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
