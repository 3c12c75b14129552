"""Rotates pseudonyms: takers under an earlier secret's go out of all items."""

from operators.propagate import without_foreign
from schemas import BadRecord, ItemMemory
from streams.kafka.packed_items import pack, unpack
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.operations.rebuild.writer import Writer
from streams.pseudonyms import is_shared, secret_if_any
from streams.settings import Settings


def rotate(settings: Settings, scanner: Scanner, writer: Writer) -> int:
    """Takes foreign pseudonyms out of all items; out of how many.

    Later choices add the takers again. Where workers have secrets of their own nothing is rotated: each of them would
    take the others' for foreign.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
        NotProduced: the broker did not accept what is left.
    """
    secret = secret_if_any(settings) if is_shared(settings) else None
    if secret is None:
        return 0
    try:
        partitions = scanner.partitions(ItemMemory.TOPIC)
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
                left = pack(rest) if rest.takers else None
                done += writer.write(ItemMemory.TOPIC, where.partition, key, left)
    writer.flush()
    return done


def _rest(value: bytes | None, secret: bytes) -> ItemMemory | None:
    """The item to write in place of a value; None to keep the value."""
    try:
        return without_foreign(unpack(value), secret) if value else None
    except BadRecord:  # an owner's answer, or not of our making
        return None
