"""Rebuilds skills from the log, and writes those that differ.

It runs the workers' fold by partition. Memory: about 75 kB per skill of the largest partition, and 8 bytes per diff.
Workers may keep running while it only compares.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson
from confluent_kafka import Message, TopicPartition

from operators.graph.items import without_foreign
from operators.learning.fold import OutOfOrder, merge
from operators.seals import SealState, check_seal, is_canonical, is_sealed, seal_record
from operators.slim import slim
from schemas import BadRecord, ItemMemory, PolicySkill, SkillDiff, SlimSkill, compound_key, decode, encode
from streams.exceptions import NotProduced, TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.consumer_group import no_workers
from streams.kafka.producer import RecordWriter
from streams.kafka.scanner import NoSuchTopic, OnStageProgress, Scanner, int_of
from streams.policies import output_gate
from streams.pseudonyms import find_secret, is_shared
from streams.settings import Settings

EXAMPLES, FLUSH_SECONDS = 20, 60.0


@dataclass
class RebuildReport:
    """Counts of a rebuild."""

    diffs: int = 0  # that were read
    skills: int = 0  # that were folded from them
    different: int = 0  # records that are, or would be, written
    left_alone: int = 0  # findings that the log cannot repair; `examples` has the first ones
    rotated: int = 0  # items that lost takers under an earlier secret
    examples: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_fine(self) -> bool:
        """True if the log and the topics agree."""
        return not self.different and not self.left_alone

    def add_unrepairable(self, key: bytes, why: str) -> None:
        """Count a finding that the log cannot repair."""
        self.left_alone += 1
        if len(self.examples) < EXAMPLES:
            try:
                user, domain = map(str, orjson.loads(key))
            except (ValueError, TypeError):
                user, domain = key.decode(errors="replace"), ""
            self.examples.append({"user_id": user, "domain": domain, "left alone": why})


@dataclass
class FoldedSkill:
    """A skill being folded from its log."""

    skill: PolicySkill | None = None
    # A digest per version: an equal diff of a known version is a repeat, another one a conflict.
    seen: "array[int]" = field(default_factory=lambda: array("Q"))
    gap: str = ""
    forged: str = ""
    has_unsealed: bool = False  # True if a version has no seal
    rewritten: int = 0  # how often erasures have rewritten the log
    versions_before: int = 0  # before the last rewrite

    @property
    def broken(self) -> str:
        """Why the skill cannot be determined, or empty."""
        rewriting = f"being rewritten by a worker, {len(self.seen)} of {self.versions_before} versions so far"
        return self.forged or self.gap or (rewriting if len(self.seen) < self.versions_before else "")

    def fold(self, diff: SkillDiff, secret: bytes) -> bool:
        """Fold the next diff; ignore a conflicting one and return False."""
        if diff.rewritten > self.rewritten and diff.base_version == 0:
            self.versions_before = max(self.versions_before, len(self.seen))  # earlier versions no longer count
            self.skill, self.seen, self.rewritten = None, array("Q"), diff.rewritten
            self.gap, self.forged, self.has_unsealed = "", "", False
        if self.gap:
            return True
        digest = int.from_bytes(blake2b(encode(diff), digest_size=8).digest(), "big")
        if diff.version <= len(self.seen):
            return self.seen[diff.version - 1] == digest
        if diff.chain is None:
            self.has_unsealed = True
        elif diff.version == len(self.seen) + 1:
            before = self.skill.chain if self.skill else None
            if not is_sealed(diff, before, secret):
                self.forged = self.forged or f"version {diff.version} is not as it was sealed"
        try:
            self.skill = merge(self.skill, diff)
            self.seen.append(digest)
        except OutOfOrder:
            self.gap = f"a gap in the log: version {diff.version} follows {len(self.seen)}"
        return True


def is_ahead(skill: PolicySkill | None, record: bytes | None) -> bool:
    """Return True if the record is one diff ahead."""
    # A worker that crashed before it sent its newest diff keeps it in the skill, and sends it at its next start.
    try:
        newest = decode(PolicySkill, record or b"")
        return newest.last_diff is not None and record == encode(merge(skill, newest.last_diff))
    except (BadRecord, OutOfOrder):
        return False


def version_in(value: bytes) -> int:
    """Return the version in an encoded skill or slim skill, or 0."""
    try:
        record: Any = orjson.loads(value)
        return int(record.get("version", record.get("skill_version", 0)))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return 0


class _Slim(NamedTuple):
    """A key's newest slim skill, and its highest version since a tombstone."""

    value: bytes
    highest: int


class _Partition(NamedTuple):
    """A partition's folds of the log and newest records, by key."""

    folded: dict[bytes, FoldedSkill]
    skills: dict[bytes, bytes]
    slims: dict[bytes, _Slim]


def rebuild(
    settings: Settings, on_progress: OnStageProgress = lambda *_: None, *, apply: bool = False
) -> RebuildReport:
    """Fold the log and compare; `apply` writes the records that differ."""
    if apply:
        no_workers(settings)
    with Scanner(settings) as scanner:
        return _Rebuild(settings, scanner, on_progress, apply).run()


class _Rebuild:
    def __init__(self, settings: Settings, scanner: Scanner, on_progress: OnStageProgress, apply: bool) -> None:
        self._settings, self._scanner, self._on_progress, self._apply = settings, scanner, on_progress, apply
        self._report, self._key, self._writer = RebuildReport(), settings.chain_key_bytes, RecordWriter(settings)
        self._gate = output_gate(settings)
        self._misplaced: set[bytes] = set()

    def run(self) -> RebuildReport:
        bases = (SkillDiff.TOPIC, PolicySkill.TOPIC, SlimSkill.TOPIC)
        logs, skills, slims = (self._scanner.partitions(base) for base in bases)
        if not len(logs) == len(skills) == len(slims):
            raise TopicsDiffer(f"{', '.join(bases)} have different numbers of partitions: run `sager topics`")
        self._remove_misplaced(slims)
        for number, (log, where, slim_where) in enumerate(zip(logs, skills, slims, strict=True)):
            folded, end = self._fold(log)
            # Slim skills first: read later, they could be ahead of the skills by a running worker.
            slim_skills = self._slims(slim_where, len(slims), own=True)
            found = _Partition(folded, self._scanner.newest([where]), slim_skills)
            self._catch_up(TopicPartition(log.topic, log.partition, end), found)
            if self._apply:
                no_workers(self._settings)
            self._repair(log.partition, found)
            self._on_progress("partitions", number + 1, len(logs))
        if self._apply:
            self._rotate()
        return self._report

    def _fold(self, log: TopicPartition) -> tuple[dict[bytes, FoldedSkill], int]:
        """Fold a partition; also return the offset after its last diff."""
        folded: dict[bytes, FoldedSkill] = {}
        end = 0
        for message in self._scanner.read([log], lambda done, total: self._on_progress(SkillDiff.TOPIC, done, total)):
            end = int_of(message.offset()) + 1
            self._report.diffs += 1
            if message.value() is not None:
                self._fold_message(folded, message)
                continue
            try:  # a tombstone: the skill was erased, with all versions before
                user_id, domain, _ = orjson.loads(message.key() or b"")
                folded.pop(compound_key(user_id, domain), None)
            except (ValueError, TypeError):
                self._report.add_unrepairable(message.key() or b"", "a tombstone with an invalid key")
        return folded, end

    def _fold_message(
        self, folded: dict[bytes, FoldedSkill], message: Message, ahead: Mapping[bytes, int] | None = None
    ) -> None:
        try:
            diff = decode(SkillDiff, message.value())
        except BadRecord as error:
            where = f"{message.topic()}/{message.partition()}/{message.offset()}"
            self._report.add_unrepairable(message.key() or b"", f"an unreadable record at {where}: {error.reason}")
            return
        key = compound_key(diff.user_id, diff.domain)
        if ahead is not None and diff.version > ahead.get(key, 0):
            return
        self._report.diffs += ahead is not None
        if not folded.setdefault(key, FoldedSkill()).fold(diff, self._key):
            self._report.add_unrepairable(key, f"two diffs of version {diff.version}; the first one is kept")

    def _catch_up(self, log: TopicPartition, found: _Partition) -> None:
        """Fold diffs that workers have written since the log was read."""
        folded, versions = found.folded, {key: version_in(value) for key, value in found.skills.items()}
        ahead = {k: version for k, version in versions.items() if version > len(folded[k].seen if k in folded else ())}
        for message in self._scanner.read([log]) if ahead else ():
            if message.value() is not None:
                self._fold_message(folded, message, ahead)

    def _repair(self, partition: int, found: _Partition) -> None:
        """Write skills that differ, and wrong or missing slim skills."""
        for key, each in found.folded.items():
            self._report.skills += each.skill is not None
            record = found.skills.get(key)
            if each.broken or each.skill is None:
                self._report.add_unrepairable(key, each.broken)
                continue
            is_equal = record == encode(each.skill)
            if not is_equal and is_ahead(each.skill, record):
                continue  # a worker sends the diff, and the slim skill with it
            if not is_equal:
                self._send(PolicySkill.TOPIC, partition, key, encode(each.skill))
            self._repair_slim(partition, key, found, is_equal=is_equal)
        for key in found.skills.keys() - found.folded.keys():
            if not is_ahead(None, found.skills[key]):
                self._report.add_unrepairable(key, "a skill that is not in the log")
        for key in found.slims.keys() - found.folded.keys():
            if self._is_forged(key, found):
                self._send(SlimSkill.TOPIC, partition, key, None)
            elif self._is_ahead(key, found):
                self._report.add_unrepairable(key, "a slim skill ahead of the log")
        self._flush()

    def _repair_slim(self, partition: int, key: bytes, found: _Partition, *, is_equal: bool) -> None:
        each, is_there = found.folded[key], key in found.slims
        is_wrong = is_there and (self._is_forged(key, found) or self._is_ahead(key, found))
        if each.skill is None or (is_equal and is_there and not is_wrong and key not in self._misplaced):
            return
        slim_skill = slim(each.skill, self._settings.slim_tokens, gate=self._gate)
        if not is_there and not slim_skill.text:
            return
        if is_wrong:
            # Apps ignore versions below their own until they see a tombstone.
            self._send(SlimSkill.TOPIC, partition, key, None)
        sealed = slim_skill if each.has_unsealed else seal_record(slim_skill, self._key)
        self._send(SlimSkill.TOPIC, partition, key, encode(sealed))

    def _is_forged(self, key: bytes, found: _Partition) -> bool:
        """Return True if a slim skill has a wrong seal or key."""
        record = found.slims[key].value
        try:
            slim_skill = decode(SlimSkill, record)
        except BadRecord:
            return True
        seal = check_seal(slim_skill, self._key)
        # A slim skill of a log without seals has none.
        is_unsealed = seal is SealState.MISSING and not found.folded.get(key, FoldedSkill()).has_unsealed
        is_others = key != compound_key(slim_skill.user_id, slim_skill.domain)
        return is_others or is_unsealed or seal is SealState.WRONG or not is_canonical(record, slim_skill)

    def _is_ahead(self, key: bytes, found: _Partition) -> bool:
        """Return True if apps may have a newer slim skill."""
        record, each = found.slims[key], found.folded.get(key, FoldedSkill())
        newest = max(len(each.seen), version_in(found.skills.get(key, b"")))
        return record.highest > min(newest, version_in(record.value))

    def _remove_misplaced(self, partitions: list[TopicPartition]) -> None:
        """Write tombstones for slim skills on other users' partitions."""
        for where in partitions:
            for key in self._slims(where, len(partitions), own=False):
                self._misplaced.add(key)
                self._send(SlimSkill.TOPIC, where.partition, key, None)
        self._flush()

    def _slims(self, where: TopicPartition, partitions: int, *, own: bool) -> dict[bytes, _Slim]:
        """Read a partition's newest slim skills, of own or foreign users."""
        found: dict[bytes, _Slim] = {}
        for message in self._scanner.read([where]):
            key, value = message.key() or b"", message.value()
            try:
                is_own = partition_of(str(orjson.loads(key)[0]), partitions) == where.partition
            except (ValueError, TypeError, LookupError):
                is_own = True
            if value is None:
                found.pop(key, None)
            elif is_own is own:
                before = found[key].highest if key in found else 0
                found[key] = _Slim(value, max(version_in(value), before))
        return found

    def _rotate(self) -> None:
        """Remove takers with pseudonyms of an earlier secret from items."""
        # Not with secrets per worker, whose pseudonyms would look foreign to each other.
        secret = find_secret(self._settings) if is_shared(self._settings) else None
        try:
            partitions = self._scanner.partitions(ItemMemory.TOPIC) if secret is not None else []
        except NoSuchTopic:
            return
        for where in partitions:
            for key, value in self._scanner.newest([where]).items():
                try:
                    rest = without_foreign(decode(ItemMemory, value), secret or b"")
                except BadRecord:
                    continue
                if rest is not None:
                    left = encode(rest) if rest.takers else None
                    self._writer.send(self._settings.topic(ItemMemory.TOPIC), key, left, where.partition)
                    self._report.rotated += 1
        self._flush()

    def _send(self, base: str, partition: int, key: bytes, value: bytes | None) -> None:
        self._report.different += 1
        if self._apply:
            self._writer.send(self._settings.topic(base), key, value, partition)

    def _flush(self) -> None:
        try:
            self._writer.flush(FLUSH_SECONDS, "skills")
        except NotProduced as error:
            raise NotProduced(f"{error}. Run `sager rebuild --apply` again: equal skills are left alone") from error
