"""The barrier of all receipts on their topic, for readers of topics that keep records for a while."""

from schemas import BadRecord, Receipt, decode
from streams.kafka.scanner import Scanner
from streams.materializer.forgetting import Barrier
from streams.settings import Settings


def barrier_of(settings: Settings, scanner: Scanner) -> Barrier:
    """Return a barrier with the receipts on their topic.

    Raises:
        BrokerUnreachable: they cannot be read.
    """
    barrier = Barrier(secret=settings.event_key_bytes)
    for message in scanner.read(scanner.partitions(Receipt.TOPIC)):
        try:
            barrier.add(decode(Receipt, message.value()))
        except BadRecord:  # a tombstone, or no receipt
            continue
    return barrier
