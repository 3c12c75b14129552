"""Which events of a deployment are replayed, read partition by partition and without a consumer group."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

import orjson
from confluent_kafka import Message, TopicPartition

from operators.whatif import Held, HeldCommand
from schemas import (
    BadRecord,
    Contrast,
    Position,
    Receipt,
    SkillCommand,
    SkillDiff,
    compound_key,
    decode,
    subject_of,
)
from schemas.codec import ModelT
from streams.exceptions import TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner, int_of, sent_at_ms


@dataclass(frozen=True)
class Chosen:
    """What is asked for.

    Attributes:
        since_ms: choices that were logged before share their live diffs on both sides; milliseconds since 1970.
        user, domain: only theirs.
        limit: about so many choices, of whole users whom their names draw; None: all.
    """

    since_ms: int = 0
    user: str | None = None
    domain: str | None = None
    limit: int | None = None


@dataclass
class History:
    """All that is at hand of one user in one domain."""

    user_id: str
    domain: str
    held: list[Held] = field(default_factory=list)
    diffs: list[SkillDiff] = field(default_factory=list)
    commands: dict[str, HeldCommand] = field(default_factory=dict)


class Reader:
    """The three topics, by partition.

    Args:
        scanner: reads them.
        chosen: what is asked for.

    Raises:
        NoSuchTopic, BrokerUnreachable: Kafka cannot be read.
        TopicsDiffer: a user's records are on partitions of different numbers.
    """

    def __init__(self, scanner: Scanner, chosen: Chosen) -> None:
        self._scanner, self._chosen = scanner, chosen
        topics = (Contrast.TOPIC, SkillDiff.TOPIC, SkillCommand.TOPIC)
        self._contrasts, self._diffs, self._commands = (scanner.partitions(base) for base in topics)
        self._count = len(self._contrasts)
        if not self._count == len(self._diffs) == len(self._commands):
            raise TopicsDiffer(
                "contrasts, skill-diffs and skill-commands must have the same number of partitions: a user's are read "
                "together. `sager topics` tells what is wrong"
            )
        self._left = chosen.limit
        # Who had anything forgotten is not replayed: their choices stay on the topic until its retention has passed.
        receipts = (_decoded(Receipt, message) for message in scanner.read(scanner.partitions(Receipt.TOPIC)))
        self._forgotten = {receipt.subject for receipt in receipts if receipt is not None}

    def partitions(self) -> Iterator[list[History]]:
        """The histories of each partition that has any, those of one partition in memory at a time."""
        places = range(self._count) if self._chosen.user is None else [partition_of(self._chosen.user, self._count)]
        for place in places:
            if found := self._histories(place):
                yield found

    def _histories(self, place: int) -> list[History]:
        """Choices first: what the log has beyond them is of no use, and the log of others need not be kept."""
        found: dict[bytes, History] = {}
        for message in self._choices(place):
            self._hold(found, message, place)
        chosen = self._drawn(found)
        for message in self._scanner.read([self._diffs[place]]) if chosen else ():
            diff = _decoded(SkillDiff, message)
            if diff is not None and (history := chosen.get(compound_key(diff.user_id, diff.domain))):
                history.diffs.append(diff)
        for message in self._scanner.read([self._commands[place]]) if chosen else ():
            command = _decoded(SkillCommand, message)
            if command is not None and (history := chosen.get(compound_key(command.user_id, command.domain))):
                history.commands.setdefault(command.event_id, HeldCommand(command, _position(message)))
        return list(chosen.values())

    def _choices(self, place: int) -> Iterator[Message]:
        where: list[TopicPartition] = [self._contrasts[place]]
        since = self._chosen.since_ms
        begun = False
        for message in self._scanner.read(self._scanner.since(where, since) if since else where):
            # From the first recent one on all of them: a gap within a user's choices could not be replayed.
            begun = begun or sent_at_ms(message) >= since
            if begun:
                yield message

    def _hold(self, found: dict[bytes, History], message: Message, place: int) -> None:
        """Keep a choice as it is, once it is known whose it is."""
        raw = unpack(message.value() or b"")
        try:
            told = orjson.loads(raw)
            user_id, domain, event_id = told["user_id"], told["domain"], told["event_id"]
            key = compound_key(user_id, domain)
            is_here = partition_of(user_id, self._count) == place
        except (ValueError, TypeError, KeyError, AttributeError):  # the worker has dead-lettered it
            return
        if self._forgotten and subject_of(user_id) in self._forgotten:
            return
        wanted = self._chosen.user in (None, user_id) and self._chosen.domain in (None, domain)
        # A worker sends what is on a wrong partition on to the right one.
        if is_here and wanted and isinstance(event_id, str):
            history = found.setdefault(key, History(user_id, domain))
            history.held.append(Held(event_id, raw, _position(message)))

    def _drawn(self, found: dict[bytes, History]) -> dict[bytes, History]:
        """As many whole histories as there is still room for."""
        if self._left is None:
            return found
        drawn: dict[bytes, History] = {}
        for key in sorted(found, key=lambda key: blake2b(key, digest_size=8).digest()):
            if self._left <= 0:
                break
            drawn[key] = found[key]
            self._left -= len(found[key].held)
        return drawn


def _position(message: Message) -> Position:
    return Position(
        topic=str(message.topic()),
        partition=int_of(message.partition()),
        offset=int_of(message.offset()),
        timestamp_ms=sent_at_ms(message),
    )


def _decoded(model: type[ModelT], message: Message) -> ModelT | None:
    try:
        return decode(model, message.value())
    except BadRecord:  # the materializer and `sager rebuild` tell of it
        return None
