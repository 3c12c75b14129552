"""One partition's logs, skills, slim skills and cards: the newest record of each key, and misplaced records."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka import Message, TopicPartition

from operators.findings import Kind
from operators.seals import is_plain
from schemas import (
    BadRecord,
    Card,
    CardDiff,
    Model,
    PolicySkill,
    SkillDiff,
    SlimSkill,
    decode,
    topic_of,
)
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner
from streams.rights.verify.findings import Finding, Name

LATE_SECONDS = 1.0
"""A worker writes a skill before it sends the diff: this long to wait for the diff."""
_DIFF_KEY_PARTS = 3
_KEY_PARTS = 2


@dataclass
class Held:
    """The newest record per key of one partition, for the users to verify.

    Attributes:
        skills, slims: by user and domain.
        log: versions by user and domain, as bytes: decoded they take five times the memory.
        cards: by user.
        card_log: versions of cards by user, as bytes.
        strange: findings of records that do not belong.
    """

    skills: dict[Name, PolicySkill] = field(default_factory=dict)
    slims: dict[Name, SlimSkill] = field(default_factory=dict)
    log: defaultdict[Name, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    cards: dict[str, Card] = field(default_factory=dict)
    card_log: defaultdict[str, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    strange: list[Finding] = field(default_factory=list)

    @property
    def names(self) -> set[Name]:
        """All users and domains that there are."""
        return {*self.skills, *self.slims, *self.log}

    def newest(self, name: Name) -> int:
        """The newest version in the log; 0 if there is none."""
        return max(self.log.get(name, {}), default=0)

    def diffs(self, name: Name) -> list[SkillDiff]:
        """The log of one skill, by version."""
        records = self.log.get(name, {})
        return [decode(SkillDiff, records[version]) for version in sorted(records)]

    def card_diffs(self, user: str) -> list[CardDiff]:
        """The log of one card, by version."""
        records = self.card_log.get(user, {})
        return [decode(CardDiff, records[version]) for version in sorted(records)]

    def is_card_ahead(self) -> bool:
        """True if a card has a version that its log lacks."""
        return any(card.version > max(self.card_log.get(user, {}), default=0) for user, card in self.cards.items())

    def is_ahead(self) -> bool:
        """Whether a skill or a slim skill is of a version that the log does not have yet."""
        return any(skill.version > self.newest(name) for name, skill in self.skills.items()) or any(
            slim.skill_version > self.newest(name) for name, slim in self.slims.items()
        )


class Reader:
    """Reads partitions.

    Args:
        scanner: of the deployment's topics.
        partitions: how many there are of each topic.
        is_meant: whether a user and domain are to be verified.
    """

    def __init__(self, scanner: Scanner, partitions: int, is_meant: Callable[[str, str], bool]) -> None:
        self._scanner, self._partitions, self._is_meant = scanner, partitions, is_meant

    def read(self, log: TopicPartition, skills: TopicPartition, slims: TopicPartition) -> Held:
        """One partition of each topic. What follows from the log is read before it."""
        held, odd = Held(), list[Finding]()
        self._current(slims, SlimSkill, held.slims, odd)
        self._current(skills, PolicySkill, held.skills, odd)
        self._log(log, held)
        if held.is_ahead():
            time.sleep(LATE_SECONDS)
            held.log.clear()
            held.strange.clear()
            self._log(log, held)
        held.strange[:0] = odd
        return held

    def read_cards(self, log: TopicPartition, cards: TopicPartition, held: Held) -> None:
        """Add one partition of cards, then their log, so that the log has the version of every card."""
        found: dict[Name, Card] = {}
        self._current(cards, Card, found, held.strange)
        held.cards = {user: card for (user, _), card in found.items()}
        strange = self._card_log(log, held)
        if held.is_card_ahead():
            time.sleep(LATE_SECONDS)
            strange = self._card_log(log, held)
        held.strange += strange

    def _card_log(self, where: TopicPartition, held: Held) -> list[Finding]:
        held.card_log.clear()
        strange: list[Finding] = []
        for message in self._scanner.read([where]):
            if message.value() is None:
                key = _parts(message.key(), _KEY_PARTS)
                if key is not None and isinstance(key[1], int):
                    held.card_log[str(key[0])].pop(key[1], None)
                continue
            diff, finding = self._record(message, CardDiff, topic_of(CardDiff).key_of)
            if finding is not None:
                strange.append(finding)
            if diff is not None:
                held.card_log[diff.user_id][diff.version] = message.value() or b""
        for user in [user for user, versions in held.card_log.items() if not versions]:
            del held.card_log[user]
        return strange

    def _current(self, where: TopicPartition, model: type[Any], into: dict[Name, Any], odd: list[Finding]) -> None:
        """The newest record per key of a compacted topic."""
        newest: dict[bytes, Message] = {}
        highest: dict[bytes, int] = {}
        for message in self._scanner.read([where]):
            key = message.key() or b""
            if message.value() is None:
                newest.pop(key, None)
                highest.pop(key, None)
            else:
                newest[key] = message
                if model is SlimSkill:
                    highest[key] = max(highest.get(key, 0), version_in(message.value()))
        for key, message in newest.items():
            record, finding = self._record(message, model, topic_of(model).key_of)
            if finding is not None:
                odd.append(finding)
            if record is None or not self._is_meant(*_name(record)):
                continue
            name = _name(record)
            into[name] = record
            if model is SlimSkill and highest[key] > record.skill_version:
                what = (
                    f"the slim skill, of version {record.skill_version}, came after one of version {highest[key]}: "
                    f"{_place(message)}"
                )
                odd.append(Finding(Kind.SLIM_REPLAYED, *name, what))

    def _log(self, where: TopicPartition, held: Held) -> None:
        for message in self._scanner.read([where]):
            if message.value() is None:
                key = _parts(message.key(), _DIFF_KEY_PARTS)
                if key is not None and isinstance(key[2], int):
                    held.log[str(key[0]), str(key[1])].pop(key[2], None)
                continue
            diff, finding = self._record(message, SkillDiff, topic_of(SkillDiff).key_of)
            if finding is not None:
                held.strange.append(finding)
            if diff is not None and self._is_meant(diff.user_id, diff.domain):
                held.log[diff.user_id, diff.domain][diff.version] = message.value() or b""
        for name in [name for name, versions in held.log.items() if not versions]:
            del held.log[name]

    def _record(
        self, message: Message, model: type[Any], key_of: Callable[[Any], bytes]
    ) -> tuple[Any | None, Finding | None]:
        """What a message says, and what is wrong with its place; nothing of users who are not meant."""
        value = unpack(message.value() or b"")
        try:
            record = decode(model, value)
        except BadRecord as error:
            user, domain = _named(message.key(), model)
            if user and not self._is_meant(user, domain):
                return None, None
            return None, Finding(Kind.UNREADABLE, user, domain, f"{_place(message)} cannot be read: {error}")
        if not self._is_meant(*_name(record)):
            return None, None
        return self._in_place(message, record, value, key_of(record))

    def _in_place(self, message: Message, record: Any, value: bytes, key: bytes) -> tuple[Any | None, Finding | None]:
        name = _name(record)
        if message.key() != key:
            what = f"{_place(message)} has this key, and is another's"
            user, domain = _named(message.key(), type(record))
            return None, Finding(Kind.MISPLACED, user or name[0], domain or name[1], what)
        if partition_of(record.user_id, self._partitions) != message.partition():
            return None, Finding(Kind.MISPLACED, *name, f"{_place(message)} is on the partition of others")
        if not is_plain(value, record):
            return record, Finding(Kind.DISGUISED, *name, f"{_place(message)} says more than what is read")
        return record, None


def model_is_log(record: Model) -> bool:
    """Whether this is a version of a log."""
    return isinstance(record, SkillDiff)


def version_in(value: bytes | None) -> int:
    """The version in an encoded slim skill; 0 if there is none."""
    try:
        return int(orjson.loads(value or b"")["skill_version"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return 0


def _name(record: Any) -> Name:
    """The user and the domain of a record; a card has no domain."""
    return record.user_id, "" if isinstance(record, Card | CardDiff) else record.domain


def _parts(key: bytes | None, count: int) -> list[Any] | None:
    """The parts of a compound key; None for any other key."""
    try:
        parts = orjson.loads(key or b"")
    except ValueError:
        return None
    return parts if isinstance(parts, list) and len(parts) == count else None


def _named(key: bytes | None, model: type[Model]) -> Name:
    """The user and domain in a key of this kind of record, as far as it names them."""
    if model is Card:
        return (key or b"").decode(errors="replace"), ""
    if model is CardDiff:
        parts = _parts(key, _KEY_PARTS)
        return (str(parts[0]), "") if parts else ("", "")
    parts = _parts(key, _DIFF_KEY_PARTS) or _parts(key, _KEY_PARTS)
    return (str(parts[0]), str(parts[1])) if parts else ("", "")


def _place(message: Message) -> str:
    return f"the record at {message.topic()}[{message.partition()}] offset {message.offset()}"
