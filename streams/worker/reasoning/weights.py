"""The domains' ranking weights in a worker, as the worker that learns them publishes them."""

import logging
from typing import NamedTuple

from operators.rank.weights import DEFAULT_WEIGHTS, RankWeights
from operators.seals import Seal, seal_of
from operators.weigh import in_use
from schemas import BadRecord, Weights, decode
from streams.kafka.follower import Follower
from streams.settings import Settings

logger = logging.getLogger("sager.worker")


class InUse(NamedTuple):
    """A domain's weights and their version; 0: nothing was learned."""

    weights: RankWeights
    version: int


NOTHING_LEARNED = InUse(DEFAULT_WEIGHTS, 0)


class LearnedWeights:
    """The newest weights per domain; empty until `start`. Weights without a worker's seal are never used."""

    def __init__(self, settings: Settings) -> None:
        self._held: dict[bytes, InUse] = {}
        self._key = settings.chain_key_bytes
        self._follower = Follower(
            settings, Weights.TOPIC, lambda message: self.take(message.key() or b"", message.value())
        )

    def start(self) -> None:
        """Read the topic to its end, then follow it."""
        self._follower.start()

    def take(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; the materializer reports invalid ones."""
        if value is None:
            self._held.pop(key, None)
            return
        weights = genuine(value, self._key)
        if weights is not None and weights.domain.encode() == key:
            self._held[key] = InUse(in_use(weights), weights.version)

    def of(self, domain: str) -> InUse:
        """Return the weights of a domain."""
        return self._held.get(domain.encode(), NOTHING_LEARNED)


def genuine(value: bytes, key: bytes) -> Weights | None:
    """Return the weights in a record; None, and a warning, if they are invalid or their seal is not right."""
    try:
        weights = decode(Weights, value)
    except BadRecord as error:
        logger.warning("weights that cannot be read are not used: %s", error)
        return None
    if (seal := seal_of(weights, key)) is Seal.RIGHT:
        return weights
    logger.warning(
        "the weights of %r, version %d, are not used: their seal is %s", weights.domain, weights.version, seal
    )
    return None
