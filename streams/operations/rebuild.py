"""Rebuilds skills from the log, and writes those that differ.

It audits partition by partition, as `sager policy verify` does. Workers may keep running while it only compares.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce

from confluent_kafka import TopicPartition

from operators.audit import FaultKind, audit_skill
from operators.graph.items import without_foreign
from operators.learning.fold import OutOfOrder, merge
from operators.seals import seal_record
from operators.slim.rules import slim
from schemas import BadRecord, ItemMemory, PolicySkill, SkillDiff, SlimSkill, compound_key, decode, encode
from streams.exceptions import NotProduced, TopicsDiffer
from streams.kafka.consumer_group import no_workers
from streams.kafka.producer import RecordWriter
from streams.kafka.scanner import NoSuchTopic, OnStageProgress, Scanner
from streams.policies import output_gate
from streams.pseudonyms import find_secret, is_shared
from streams.rights.sealed_topics import PartitionReader, SealedPartition, SkillKey
from streams.settings import Settings

EXAMPLES, FLUSH_SECONDS = 20, 60.0
# With these faults the log does not show what the skill is.
_BROKEN_LOG = (FaultKind.LOG_GAP, FaultKind.LOG_FORGED)
_WRONG_SLIM = (FaultKind.SLIM_UNSEALED, FaultKind.SLIM_FORGED, FaultKind.SLIM_AHEAD)


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

    def add_unrepairable(self, user_id: str, domain: str, why: str) -> None:
        """Count a finding that the log cannot repair."""
        self.left_alone += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append({"user_id": user_id, "domain": domain, "left alone": why})


def is_ahead(skill: PolicySkill | None, state: PolicySkill) -> bool:
    """Return True if a state is one diff ahead of the folded skill."""
    # A worker that crashed before it sent its newest diff keeps it in the skill, and sends it at its next start.
    try:
        return state.last_diff is not None and encode(state) == encode(merge(skill, state.last_diff))
    except OutOfOrder:
        return False


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
        self._removed: set[bytes] = set()

    def run(self) -> RebuildReport:
        where = {model.TOPIC: self._scanner.partitions(model.TOPIC) for model in (SkillDiff, PolicySkill, SlimSkill)}
        counts = {len(partitions) for partitions in where.values()}
        if len(counts) > 1:
            raise TopicsDiffer(f"{', '.join(where)} have different numbers of partitions: run `sager topics`")
        reader, [count] = PartitionReader(self._scanner, where, lambda *_: True), counts
        # First: a tombstone on a wrong partition also removes the slim skill of the right one from apps.
        for number in range(count):
            for key in reader.wrong_slims(number):
                self._removed.add(key)
                self._send(SlimSkill.TOPIC, number, key, None)
        self._flush()
        for states in where[PolicySkill.TOPIC]:
            found = reader.read(states.partition)
            if self._apply:
                no_workers(self._settings)
            self._repair(states, found)
            self._on_progress("partitions", states.partition + 1, count)
        if self._apply:
            self._rotate()
        return self._report

    def _repair(self, where: TopicPartition, found: SealedPartition) -> None:
        """Write skills that differ, and wrong or missing slim skills."""
        skills, slims, logs = found.states[PolicySkill], found.states[SlimSkill], found.logs[SkillDiff]
        for each in found.wrong[SkillDiff].values():
            self._report.add_unrepairable(each.user_id, each.domain, each.what)
        self._report.diffs += sum(map(len, logs.values()))
        moving = self._moving(where, found)
        for name in sorted({*skills, *logs, *slims} - moving):
            self._repair_skill(where.partition, name, found)
        self._flush()

    def _moving(self, where: TopicPartition, found: SealedPartition) -> set[SkillKey]:
        """Return the skills that a worker has written since they were read."""
        logs, skills = found.logs[SkillDiff], found.states[PolicySkill]
        known = {name: skills[name].version if name in skills else 0 for name in logs}
        behind = [name for name, version in known.items() if version < max(logs[name])]
        newest, moving = self._scanner.newest([where]) if behind else {}, set[SkillKey]()
        for name in behind:
            with suppress(BadRecord):  # it is missing, or was erased meanwhile
                if decode(PolicySkill, newest.get(compound_key(*name))).version > known[name]:
                    moving.add(name)
        return moving

    def _repair_skill(self, partition: int, name: SkillKey, found: SealedPartition) -> None:
        state, short = found.states[PolicySkill].get(name), found.states[SlimSkill].get(name)
        diffs, key = found.log(SkillDiff, name), compound_key(*name)
        faults = {each.kind: each.text for each in audit_skill(diffs, None, short, self._key)}
        is_wrong = not faults.keys().isdisjoint(_WRONG_SLIM)
        broken = next((faults[kind] for kind in _BROKEN_LOG if kind in faults), "")
        folded: PolicySkill | None = None
        try:
            folded = None if broken else reduce(merge, diffs, None)
        except Exception as error:  # an unsealed version may break the fold anywhere
            broken = f"the log does not fold: {error or type(error).__name__}"
        if state is not None and state.version > (folded.version if folded else 0) and not broken:
            if is_ahead(folded, state):
                return  # a worker sends the diff, and the slim skill with it
            broken = "the log ends before the skill" if diffs else "a skill that is not in the log"
        if broken:
            self._report.add_unrepairable(*name, broken)
        elif folded is None and is_wrong:
            self._send(SlimSkill.TOPIC, partition, key, None)
        elif folded is None and key not in self._removed:
            self._report.add_unrepairable(*name, "a slim skill ahead of the log")
        elif folded is not None:
            self._report.skills += 1
            is_equal = state is not None and encode(state) == encode(folded) and key not in found.wrong[PolicySkill]
            if not is_equal:
                self._send(PolicySkill.TOPIC, partition, key, encode(folded))
            made = slim(folded, self._settings.slim_tokens, gate=self._gate)
            if short is None and not made.text:
                return
            if is_wrong:
                # Apps ignore versions below their own until they see a tombstone.
                self._send(SlimSkill.TOPIC, partition, key, None)
            if not is_equal or is_wrong or short is None or key in self._removed:
                self._send(SlimSkill.TOPIC, partition, key, encode(seal_record(made, self._key)))

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
