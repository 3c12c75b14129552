"""Slim skills that must not stay: what is wrong with each, and how it ends.

Apps ignore a slim skill of a lower version than the one they have. A forged one of a high version ends with a
tombstone, after which they take any version.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from confluent_kafka import Message, TopicPartition

from operators.seals import Seal, is_plain, seal_of
from schemas import BadRecord, SlimSkill, compound_key, decode
from streams.kafka.clients import partition_of
from streams.kafka.scanner import Scanner
from streams.operations.rebuild.compare import version_in
from streams.operations.rebuild.report import Finding, Report
from streams.operations.rebuild.writer import Writer


@dataclass(frozen=True)
class Told:
    """What the topic tells under one key.

    Attributes:
        value: the newest record.
        highest: the highest version since the last tombstone: what a running app holds.
    """

    value: bytes
    highest: int


def newest(scanner: Scanner, where: TopicPartition, partitions: int) -> dict[bytes, Told]:
    """What one partition tells of its own users, by key.

    Args:
        scanner: of the deployment's topics.
        where: the partition.
        partitions: how many there are.
    """
    found: dict[bytes, Told] = {}
    for message in scanner.read([where]):
        if not _is_misplaced(message.key() or b"", where.partition, partitions):
            _add(found, message)
    return found


def end_misplaced(
    scanner: Scanner, partitions: Sequence[TopicPartition], report: Report, writer: Writer | None
) -> set[bytes]:
    """Reports slim skills on the partitions of other users; returns their keys.

    Args:
        scanner: of the deployment's topics.
        partitions: all partitions of the topic.
        report: receives the findings.
        writer: ends them, before the right ones are written on their own partitions; None: they stay.
    """
    ended = set()
    for where in partitions:
        found: dict[bytes, Told] = {}
        for message in scanner.read([where]):
            if _is_misplaced(message.key() or b"", where.partition, len(partitions)):
                _add(found, message)
        for key in found:
            report.note(Finding.SLIM_FORGED, key, f"on partition {where.partition}, of others")
            ended.add(key)
            if writer is not None:
                report.written += writer.write(SlimSkill.TOPIC, where.partition, key, None)
    if writer is not None:
        writer.flush()
    return ended


def _add(found: dict[bytes, Told], message: Message) -> None:
    """Adds the next record of a partition."""
    key, value = message.key() or b"", message.value()
    if value is None:
        found.pop(key, None)
        return
    before = found.get(key)
    found[key] = Told(value, max(version_in(value), before.highest if before else 0))


def _is_misplaced(key: bytes, partition: int, partitions: int) -> bool:
    """Whether a key is on the partition of other users, where its own partition cannot end it."""
    try:
        user, _ = orjson.loads(key)
        return partition_of(str(user), partitions) != partition
    except (ValueError, TypeError):
        return False


def wrong_with(key: bytes, told: Told, version: int, secret: bytes) -> tuple[Finding, str] | None:
    """What is wrong with a slim skill; None if nothing is.

    Args:
        key: the record's key.
        told: the record.
        version: the newest version of the log and of the skill.
        secret: the deployment's; empty for none.
    """
    try:
        slim = decode(SlimSkill, told.value)
    except BadRecord as error:
        return Finding.SLIM_FORGED, f"cannot be read: {error}"
    if key != compound_key(slim.user_id, slim.domain):
        return Finding.SLIM_FORGED, "under the key of another"
    seal = seal_of(slim, secret)
    if seal is Seal.WRONG or not is_plain(told.value, slim):
        return Finding.SLIM_FORGED, f"version {slim.skill_version}"
    if told.highest > version:
        return Finding.SLIM_AHEAD, f"version {told.highest}, the log is at {version}"
    if told.highest > slim.skill_version:
        return Finding.SLIM_AHEAD, f"version {told.highest} came before version {slim.skill_version}"
    return (Finding.SLIM_UNSEALED, f"version {slim.skill_version}") if seal is Seal.MISSING else None
