"""Reads the newest sealed records of a partition, and the receipts."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import orjson
from confluent_kafka import Message, TopicPartition

from operators.audit import FaultKind
from operators.seals import SealState, check_seal, is_canonical
from schemas import BadRecord, Card, CardDiff, Model, Receipt, SlimSkill, decode, subject_digest, topic_of
from schemas.diffs import PolicySkill, SkillDiff
from streams.kafka.clients import partition_of
from streams.kafka.scanner import Scanner

# The log whose fold is the state.
LOG_OF: dict[type[Model], type[Model]] = {PolicySkill: SkillDiff, SlimSkill: SkillDiff, Card: CardDiff}
LATE_SECONDS = 1.0  # a worker sends the state before the diff: a diff may be this late

DiffT = TypeVar("DiffT", SkillDiff, CardDiff)
SkillKey = tuple[str, str]  # user and domain. A card has the domain "".


@dataclass(frozen=True)
class AuditFinding:
    """A changed or removed record; user and domain may be unreadable, empty."""

    kind: FaultKind
    user_id: str
    domain: str
    what: str  # a description with the location, for people


@dataclass
class SealedPartition:
    """The newest record of each key of one partition."""

    states: dict[type[Model], dict[SkillKey, Any]] = field(default_factory=dict)
    # Encoded: decoded logs would take five times the memory.
    logs: dict[type[Model], dict[SkillKey, dict[int, bytes]]] = field(default_factory=dict)
    findings: list[AuditFinding] = field(default_factory=list)
    # The last finding about each key.
    wrong: defaultdict[type[Model], dict[bytes, AuditFinding]] = field(default_factory=lambda: defaultdict(dict))

    def report(self, model: type[Model], kind: FaultKind, name: SkillKey, message: Message, what: str) -> None:
        """Add a finding about a record."""
        finding = AuditFinding(kind, *name, f"{_location(message)} {what}")
        self.findings.append(finding)
        self.wrong[model][message.key() or b""] = finding

    def log(self, model: type[DiffT], name: SkillKey) -> list[DiffT]:
        """Return a log in the order of versions."""
        return [decode(model, raw) for _, raw in sorted(self.logs[model].get(name, {}).items())]

    def is_ahead_of_log(self) -> bool:
        """Return True if a state has a version that its log lacks."""
        for model, states in self.states.items():
            log = self.logs[LOG_OF[model]]
            for name, state in states.items():
                version = state.skill_version if model is SlimSkill else state.version
                if version > max(log.get(name, ()), default=0):
                    return True
        return False


class PartitionReader:
    """Reads the sealed topics; `where`: partitions by base name."""

    def __init__(
        self, scanner: Scanner, where: Mapping[str, Sequence[TopicPartition]], is_selected: Callable[[str, str], bool]
    ) -> None:
        self._scanner, self._where, self._is_selected = scanner, where, is_selected

    def read(self, number: int) -> SealedPartition:
        """Read one partition of each topic in `where`, the states before their logs."""
        found = SealedPartition()
        for model in (each for each in LOG_OF if each.TOPIC in self._where):
            found.states[model] = {_skill_key(record): record for record, _ in self._records(model, number, found)}
        of_states = found.findings
        for wait in (LATE_SECONDS, 0.0):
            found.findings = [*of_states]
            for log in dict.fromkeys(map(LOG_OF.__getitem__, found.states)):
                found.logs[log] = {}
                for diff, raw in self._records(log, number, found):
                    found.logs[log].setdefault(_skill_key(diff), {})[diff.version] = raw
            if not found.is_ahead_of_log():
                break
            time.sleep(wait)
        self._leave_out_new(number, found)
        return found

    def _leave_out_new(self, number: int, found: SealedPartition) -> None:
        """Drop the logs and slim skills of states that a worker has begun since the states were read."""
        for model in found.states.keys() - {SlimSkill}:
            log, states = found.logs[LOG_OF[model]], found.states[model]
            if begun := log.keys() - states.keys():
                for name in begun & {_skill_key(now) for now, _ in self._records(model, number, SealedPartition())}:
                    for each in (log, found.states.get(SlimSkill, {})):
                        each.pop(name, None)

    def wrong_slims(self, number: int) -> dict[bytes, AuditFinding]:
        """Return the keys of slim skills that no app should read, whatever the log has."""
        found = SealedPartition()
        for _ in self._records(SlimSkill, number, found):
            pass
        return found.wrong[SlimSkill]

    def _records(self, model: type[Any], number: int, found: SealedPartition) -> Iterator[tuple[Any, bytes]]:
        """Yield the newest record of each key with its bytes."""
        newest: dict[bytes, Message] = {}
        highest: dict[bytes, int] = {}
        for message in self._scanner.read([self._where[model.TOPIC][number]]):
            key, value = message.key() or b"", message.value()
            newest[key] = message
            if value is None:
                highest.pop(key, None)
            elif model is SlimSkill:
                highest[key] = max(highest.get(key, 0), _slim_version(value))
        for key, message in newest.items():
            record = self._decoded(message, model, found)
            if record is None:
                continue
            if highest.get(key, 0) > getattr(record, "skill_version", 0):
                what = f"is of version {record.skill_version}, after one of version {highest[key]}"
                found.report(model, FaultKind.SLIM_REPLAYED, _skill_key(record), message, what)
            yield record, message.value() or b""

    def _decoded(self, message: Message, model: type[Any], found: SealedPartition) -> Any:
        """Return the record; None if removed, unreadable, misplaced or not selected."""
        raw, named = message.value(), _named_in_key(message.key(), model)
        if raw is None:
            return None
        try:
            record = decode(model, raw)
        except BadRecord as error:
            if not named[0] or self._is_selected(*named):
                found.report(model, FaultKind.UNREADABLE, named, message, f"cannot be read: {error}")
            return None
        name = user, domain = _skill_key(record)
        if not self._is_selected(user, domain):
            return None
        if message.key() != topic_of(model).key_of(record):
            owner = named[0] or user, named[1] or domain
            found.report(model, FaultKind.MISPLACED, owner, message, "has this key, and is another's")
            return None
        if partition_of(user, len(self._where[model.TOPIC])) != message.partition():
            found.report(model, FaultKind.MISPLACED, name, message, "is on another user's partition")
            return None
        if not is_canonical(raw, record):
            found.report(model, FaultKind.DISGUISED, name, message, "has fields that readers ignore")
        return record


class ReceiptIndex:
    """Each person's newest receipt; only valid seals excuse missing records."""

    def __init__(self, scanner: Scanner, key: bytes) -> None:
        self.by_subject: dict[str, Receipt] = {}
        self.findings: list[AuditFinding] = []
        newest: dict[tuple[bytes, int | None], Message] = {}
        for message in scanner.read(scanner.partitions(Receipt.TOPIC)):
            # After a change of the number of partitions, a subject has receipts on several: each one counts.
            newest[message.key() or b"", message.partition()] = message
        for message in newest.values():
            for kind, what in self._add(message, key):
                self.findings.append(AuditFinding(kind, "", "", f"the receipt at {_location(message)} {what}"))

    def _add(self, message: Message, key: bytes) -> Iterator[tuple[FaultKind, str]]:
        value = message.value()
        if value is None:
            yield FaultKind.RECEIPT_MISSING, "was removed, which a worker never does"
            return
        try:
            receipt = decode(Receipt, value)
        except BadRecord as error:
            yield FaultKind.UNREADABLE, f"cannot be read: {error}"
            return
        seal = check_seal(receipt, key)
        if seal is SealState.WRONG:
            yield FaultKind.RECEIPT_FORGED, "has an invalid seal, or one with another key, so it excuses nothing"
            return
        if (message.key() or b"") != receipt.subject.encode():
            yield FaultKind.MISPLACED, "has the key of another person"
            return
        if seal is SealState.MISSING:
            yield FaultKind.RECEIPT_UNSEALED, "is not sealed"
        if not is_canonical(value, receipt):
            yield FaultKind.DISGUISED, "has fields that readers ignore"
        known = self.by_subject.get(receipt.subject)
        if known is None or known.reach <= receipt.reach:
            self.by_subject[receipt.subject] = receipt

    def of(self, user_id: str) -> Receipt | None:
        """Return the valid receipt of a user, if any."""
        return self.by_subject.get(subject_digest(user_id))

    def covers(self, user_id: str, domain: str, moment: datetime) -> bool:
        """Return True if events of this moment are erased."""
        receipt = self.of(user_id)
        return receipt is not None and receipt.covers(domain or None, moment)

    def has_removed(self, user_id: str, domain: str, moment: datetime, before: datetime) -> bool:
        """Return True if records of `moment` were removed by `before`."""
        receipt = self.of(user_id)
        scopes = [] if receipt is None else [receipt.person, receipt.domains.get(domain)]  # type: ignore[call-overload]
        return any(scope is not None and scope.done and moment <= scope.until < before for scope in scopes)

    def has_scope(self, user_id: str, domain: str | None) -> bool:
        """Return True if the person or the domain, None: any, was erased."""
        receipt = self.of(user_id)
        if receipt is None:
            return False
        return receipt.person is not None or (bool(receipt.domains) if domain is None else domain in receipt.domains)


def _slim_version(value: bytes | None) -> int:
    try:
        return int(orjson.loads(value or b"")["skill_version"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return 0


def _skill_key(record: Any) -> SkillKey:
    return record.user_id, getattr(record, "domain", "")


def _named_in_key(key: bytes | None, model: type[Any]) -> SkillKey:
    """Return the user and domain in a record's key, or ""."""
    if model is Card:
        return (key or b"").decode(errors="replace"), ""
    try:
        user, domain, *_ = orjson.loads(key or b"")
    except (ValueError, TypeError):
        return "", ""
    return str(user), "" if model is CardDiff else str(domain)


def _location(message: Message) -> str:
    return f"{message.topic()}[{message.partition()}] offset {message.offset()}"
