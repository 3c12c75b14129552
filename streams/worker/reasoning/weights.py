"""The domains' weights in a worker: what every worker's rankings go by, as the one that learns them publishes them."""

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
    """What a ranking goes by, and its version; 0: nothing was learned."""

    weights: RankWeights
    version: int


NOTHING_LEARNED = InUse(DEFAULT_WEIGHTS, 0)


class LearnedWeights:
    """The newest weights per domain; empty until `start`. What no worker has sealed is never used."""

    def __init__(self, settings: Settings) -> None:
        self._held: dict[bytes, InUse] = {}
        self._key = settings.chain_key_bytes
        self._follower = Follower(settings, Weights.TOPIC, self.take)

    def start(self) -> None:
        """Read what there is, then follow.

        Raises:
            BrokerUnreachable: the topic could not be read.
        """
        self._follower.start()

    def take(self, key: bytes, value: bytes | None) -> None:
        """Hold a record of the topic; one that cannot be read is the materializer's to report."""
        if value is None:
            self._held.pop(key, None)
            return
        weights = genuine(value, self._key)
        if weights is not None and weights.domain.encode() == key:
            self._held[key] = InUse(in_use(weights), weights.version)

    def of(self, domain: str) -> InUse:
        """The weights of a domain now."""
        return self._held.get(domain.encode(), NOTHING_LEARNED)


def genuine(value: bytes, key: bytes) -> Weights | None:
    """The weights in these bytes; None, and a word in the log, where they are none or their seal is not right.

    Args:
        value: a record.
        key: the deployment's secret.
    """
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
