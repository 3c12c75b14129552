"""Reads the versions of a skill or of a card as the log has them now."""

from typing import TypeVar

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from schemas import BadRecord, CardDiff, SkillDiff, decode
from streams.kafka.scanner import Scanner
from streams.settings import Settings

DiffT = TypeVar("DiffT", SkillDiff, CardDiff)


def read_versions(settings: Settings, model: type[DiffT], partition: int, start: bytes) -> list[DiffT]:
    """All versions under keys with this start, in order: of two records with one key the newer one.

    Raises:
        BrokerUnreachable: the broker does not answer.
    """
    found: dict[bytes, DiffT] = {}
    with Scanner(settings) as scanner:
        where = TopicPartition(settings.topic(model.TOPIC), partition, OFFSET_BEGINNING)
        for message in scanner.read([where]):
            key = message.key() or b""
            if not key.startswith(start):
                continue
            found.pop(key, None)
            try:
                found[key] = decode(model, message.value())
            except BadRecord:  # a tombstone, or not of our making; the materializer dead-letters that
                continue
    return sorted(found.values(), key=lambda diff: diff.version)
