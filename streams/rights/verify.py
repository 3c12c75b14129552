"""Verifies that no record on the topics was edited or removed.

It checks the seals, then the fold of each log, partition by partition. Workers may keep running. A receipt excuses
erased records. Memory: about 1.5 kB per version in the log of the largest partition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from operators.audit import Fault, FaultKind, audit_card, audit_skill
from schemas import Card, CardDiff, PolicySkill, SkillDiff, SlimSkill
from streams.exceptions import TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.scanner import OnStageProgress, Scanner
from streams.rights.sealed_topics import AuditFinding, PartitionReader, ReceiptIndex, SealedPartition, SkillKey
from streams.settings import Settings

CLOCKS = timedelta(minutes=5)  # the largest difference between a worker's clock and the verifier's
MOST_FINDINGS = 1_000
_TOPICS = (SlimSkill.TOPIC, PolicySkill.TOPIC, SkillDiff.TOPIC, Card.TOPIC, CardDiff.TOPIC)
Sealed = SkillDiff | PolicySkill | SlimSkill | CardDiff | Card


@dataclass
class VerifyReport:
    """Counts of verified records, of excused people, and of findings."""

    users: int = 0
    skills: int = 0
    versions: int = 0
    cards: int = 0
    receipts: int = 0
    forgotten: int = 0
    findings: list[AuditFinding] = field(default_factory=list)
    found: int = 0

    def add(self, *findings: AuditFinding) -> None:
        """Count findings, and store them up to the limit."""
        self.found += len(findings)
        self.findings += findings[: MOST_FINDINGS - len(self.findings)]


def verify(
    settings: Settings, user: str | None = None, domain: str | None = None, progress: OnStageProgress = lambda *_: None
) -> VerifyReport:
    """Verify the skills of all users, or of this user or domain."""
    with Scanner(settings) as scanner:
        return _Verification(settings, scanner, user, domain, progress).run()


class _Verification:
    def __init__(
        self, settings: Settings, scanner: Scanner, user: str | None, domain: str | None, progress: OnStageProgress
    ) -> None:
        self._scanner, self._progress = scanner, progress
        self._user, self._domain = user, domain
        self._key = settings.chain_key_bytes
        self._done = VerifyReport()
        self._excusable: list[tuple[AuditFinding, datetime]] = []
        self._is_known = False
        # The receipts are read first: records that they report as removed must be missing from now on.
        self._removed_before = datetime.now(UTC) - CLOCKS
        self._receipts = ReceiptIndex(scanner, self._key)

    def run(self) -> VerifyReport:
        where = {topic: self._scanner.partitions(topic) for topic in _TOPICS}
        counts = {base: len(partitions) for base, partitions in where.items()}
        count = counts[SkillDiff.TOPIC]
        if set(counts.values()) != {count}:
            raise TopicsDiffer(
                f"topics must have the same number of partitions: {counts}. `sager topics` has the cause"
            )
        reader = PartitionReader(self._scanner, where, self._is_selected)
        numbers = [*range(count)] if self._user is None else [partition_of(self._user, count)]
        for done, number in enumerate(numbers):
            self._progress("partitions", done, len(numbers))
            self._audit(reader.read(number))
        self._progress("partitions", len(numbers), len(numbers))
        self._conclude()
        return self._done

    def _is_selected(self, user: str, domain: str) -> bool:
        return self._user in (None, user) and (not domain or self._domain in (None, domain))

    def _audit(self, partition: SealedPartition) -> None:
        self._done.add(*partition.findings)
        skills, slims, cards = (partition.states[model] for model in (PolicySkill, SlimSkill, Card))
        logs, card_logs = partition.logs[SkillDiff], partition.logs[CardDiff]
        for name in sorted({*skills, *logs, *slims}):
            diffs, skill, slim = partition.log(SkillDiff, name), skills.get(name), slims.get(name)
            faults = audit_skill(diffs, skill, slim, self._key)
            erasable = {FaultKind.SLIM_WITHOUT_LOG: slim, FaultKind.LOG_CUT: skill}
            self._report(name, faults, erasable, [*diffs, skill, slim])
        for name in sorted({*cards, *card_logs}):
            versions, card = partition.log(CardDiff, name), cards.get(name)
            self._report(name, audit_card(versions, card, self._key), {FaultKind.LOG_CUT: card}, [*versions, card])
            self._done.cards += 1
        self._is_known = self._is_known or bool(skills or logs or cards)
        self._done.users += len({user for user, _ in {*skills, *logs}})
        self._done.skills += len({*skills, *logs})
        self._done.versions += sum(map(len, logs.values()))

    def _report(
        self,
        name: SkillKey,
        faults: Iterable[Fault],
        erasable: Mapping[FaultKind, Sealed | None],
        records: Sequence[Sealed | None],
    ) -> None:
        """Add a log's findings; defer those that a receipt may excuse."""
        for fault in faults:
            finding = AuditFinding(fault.kind, *name, fault.text)
            # A worker may erase the log between our two reads: then the receipt explains the missing records.
            if (state := erasable.get(fault.kind)) is not None:
                self._excusable.append((finding, state.occurred_at))
            else:
                self._done.add(finding)
        for record in records:
            if record is not None and self._receipts.has_removed(*name, record.occurred_at, self._removed_before):
                what = f"erased records are on the topic {record.TOPIC} again"
                self._done.add(AuditFinding(FaultKind.RETURNED, *name, what))
                return

    def _conclude(self) -> None:
        """Decide the deferred findings by the current receipts."""
        # A worker writes a receipt before it removes records.
        receipts = ReceiptIndex(self._scanner, self._key)
        self._done.receipts = len(receipts.by_subject)
        self._done.add(*receipts.findings)
        forgotten = set[str]()
        for finding, moment in self._excusable:
            if receipts.covers(finding.user_id, finding.domain, moment):
                forgotten.add(finding.user_id)
            else:
                self._done.add(finding)
        if self._user is not None and not self._is_known:
            if receipts.has_scope(self._user, self._domain):
                forgotten.add(self._user)
            elif not self._done.found:
                what = "there is neither a log nor a receipt"
                self._done.add(AuditFinding(FaultKind.UNKNOWN, self._user, self._domain or "", what))
        self._done.forgotten = len(forgotten)
