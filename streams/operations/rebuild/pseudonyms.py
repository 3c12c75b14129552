"""Rotates pseudonyms: what other users were told under an earlier secret, or under none, goes."""

from operators.propagate import without_foreign
from schemas import BadRecord, Neighbourhood, decode, encode
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.operations.rebuild.writer import Writer
from streams.pseudonyms import is_shared, secret_if_any
from streams.settings import Settings


def rotate(settings: Settings, scanner: Scanner, writer: Writer) -> int:
    """Takes signals with foreign pseudonyms out of all neighbourhoods; out of how many.

    Their items tell again as people choose. Where workers have secrets of their own, only what has none goes.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
        NotProduced: the broker did not accept what is left.
    """
    secret = secret_if_any(settings) if is_shared(settings) else None
    try:
        partitions = scanner.partitions(Neighbourhood.TOPIC)
    except NoSuchTopic:
        return 0
    done = 0
    for where in partitions:
        newest: dict[bytes, bytes | None] = {}
        for message in scanner.read([where]):
            newest[message.key() or b""] = message.value()
        for key, value in newest.items():
            rest = _rest(value, secret)
            if rest is not None:
                done += writer.write(Neighbourhood.TOPIC, where.partition, key, encode(rest))
    writer.flush()
    return done


def _rest(value: bytes | None, secret: bytes | None) -> Neighbourhood | None:
    try:
        return without_foreign(decode(Neighbourhood, value), secret)
    except BadRecord:  # a tombstone, or not of our making
        return None
