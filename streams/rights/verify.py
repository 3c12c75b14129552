"""Verifies that no record on the topics was edited or removed.

A user's log, skill and slim skill are on the same partition, so it works partition by partition: seals, then the fold
of each log. Workers may keep running. A receipt excuses erased records. A DuckDB snapshot in doubt is made again.

The largest partition bounds the memory: about 1.5 kB per version of its log.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from operators.anchor import Pseudonyms, is_excused, receipt_fault, receipt_mark, skill_faults, skill_mark
from operators.audit import audit, audit_card
from operators.findings import Kind
from schemas import Card, CardDiff, PolicySkill, SkillDiff, SlimSkill, subject_of
from streams.exceptions import TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.scanner import Scanner
from streams.rights import anchors
from streams.rights.anchors import Anchor
from streams.rights.sealed_topics import Finding, Name, Partition, PartitionReader, Receipts
from streams.settings import Settings

Progress = Callable[[str, int, int], None]
"""Receives the stage's name, the amount done, and about the total."""
CLOCKS = timedelta(minutes=5)
"""The largest difference between a worker's clock and the verifier's."""
MOST_FINDINGS = 1_000
_TOPICS = (SlimSkill.TOPIC, PolicySkill.TOPIC, SkillDiff.TOPIC, Card.TOPIC, CardDiff.TOPIC)


@dataclass
class Verified:
    """The extent of a verification and its findings.

    Attributes:
        users, skills, versions, cards, receipts: the number of each that was verified on the topics.
        forgotten: people whose missing records a receipt excuses.
        anchored: skills in the anchor; None without an anchor.
    """

    users: int = 0
    skills: int = 0
    versions: int = 0
    cards: int = 0
    receipts: int = 0
    forgotten: int = 0
    anchored: int | None = None
    findings: list[Finding] = field(default_factory=list)
    found: int = 0

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it up to a limit."""
        self.found += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def verify(
    settings: Settings,
    user: str | None = None,
    domain: str | None = None,
    progress: Progress = lambda *_: None,
    anchor: Path | None = None,
) -> Verified:
    """Verify the skills of all users, or of one.

    `user`: only this user; None: all. `domain`: only this domain; None: all. `anchor`: a file of `make_anchor`;
    None: without one.

    Raises:
        NoAnchor: the anchor is not of this deployment, or was edited.
    """
    known = anchors.load(anchor, settings) if anchor is not None else None
    with Scanner(settings) as scanner:
        return _Verification(settings, scanner, user, domain, progress, anchor=known).run()


def make_anchor(settings: Settings, to: Path, progress: Progress = lambda *_: None) -> Verified:
    """Verify the topics and write an anchor file, unless there are findings.

    Raises:
        NoAnchor: there is no key, or the file exists.
    """
    anchors.refuse_target(to, settings)
    made = Anchor(datetime.now(UTC) - CLOCKS)
    with Scanner(settings) as scanner:
        done = _Verification(settings, scanner, None, None, progress, into=made).run()
    if not done.found:
        anchors.write(to, settings, made)
    return done


class _Verification:
    def __init__(
        self,
        settings: Settings,
        scanner: Scanner,
        user: str | None,
        domain: str | None,
        progress: Progress,
        *,
        anchor: Anchor | None = None,
        into: Anchor | None = None,
    ) -> None:
        self._scanner, self._progress = scanner, progress
        self._user, self._domain, self._anchor, self._into = user, domain, anchor, into
        self._key = settings.chain_key_bytes
        self._names = Pseudonyms(self._key)
        self._done = Verified(anchored=len(anchor.skills) if anchor else None)
        self._excusable: list[tuple[Finding, datetime]] = []
        self._unmatched = dict(anchor.skills) if anchor else {}
        self._is_known = False
        # The receipts are read first. Records that they call removed must be gone already, or they have returned.
        self._removed_before = datetime.now(UTC) - CLOCKS
        self._receipts = Receipts(scanner, self._key)

    def run(self) -> Verified:
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

    def _audit(self, partition: Partition) -> None:
        for finding in partition.findings:
            self._done.add(finding)
        skills, slims, cards = (partition.states[model] for model in (PolicySkill, SlimSkill, Card))
        logs, card_logs = partition.logs[SkillDiff], partition.logs[CardDiff]
        for name in sorted({*skills, *logs, *slims}):
            diffs, skill, slim = partition.log(SkillDiff, name), skills.get(name), slims.get(name)
            for fault in audit(diffs, skill, slim, self._key):
                # A state whose log went meanwhile was erased meanwhile.
                state = {Kind.SLIM_WITHOUT_LOG: slim, Kind.LOG_CUT: skill}.get(fault.kind)
                self._report(Finding(fault.kind, *name, fault.what), state and state.occurred_at)
            self._check_erased(name, [*diffs, skill, slim])
            if diffs:
                self._mark(name, diffs, slim)
        for name in sorted({*cards, *card_logs}):
            versions, card = partition.log(CardDiff, name), cards.get(name)
            for fault in audit_card(versions, card, self._key):
                state = card if fault.kind is Kind.LOG_CUT else None
                self._report(Finding(fault.kind, *name, fault.what), state and state.occurred_at)
            self._check_erased(name, [*versions, card])
            self._done.cards += 1
        self._is_known = self._is_known or bool(skills or logs or cards)
        self._done.users += len({user for user, _ in {*skills, *logs}})
        self._done.skills += len({*skills, *logs})
        self._done.versions += sum(map(len, logs.values()))

    def _check_erased(
        self, name: Name, records: Sequence[SkillDiff | PolicySkill | SlimSkill | CardDiff | Card | None]
    ) -> None:
        """Report records that a receipt calls removed. They bear the seal that they always had."""
        for record in records:
            if record is not None and self._receipts.has_removed(*name, record.occurred_at, self._removed_before):
                self._done.add(Finding(Kind.RETURNED, *name, f"erased records are on the topic {record.TOPIC} again"))
                return

    def _mark(self, name: Name, diffs: Sequence[SkillDiff], slim: SlimSkill | None) -> None:
        """Compare one skill with the anchor, or add it to the new one."""
        if self._into is not None:
            mark = skill_mark(diffs, slim, self._names)
            self._into.skills[mark.skill] = mark
        if self._anchor is not None:
            known = self._unmatched.pop(self._names.skill(subject_of(name[0]), name[1]), None)
            receipt, since = self._receipts.of(name[0]), self._anchor.since
            for fault in skill_faults(known, diffs, slim, receipt, since) if known is not None else []:
                self._report(Finding(fault.kind, *name, fault.what), since)

    def _report(self, finding: Finding, moment: datetime | None) -> None:
        """Add a finding; one that a receipt may excuse waits for the end."""
        if moment is None:
            self._done.add(finding)
        else:
            self._excusable.append((finding, moment))

    def _conclude(self) -> None:
        """Judge by the receipts as they are now: a worker writes the receipt before it removes anything."""
        receipts = Receipts(self._scanner, self._key)
        self._done.receipts = len(receipts.by_subject)
        for finding in receipts.findings:
            self._done.add(finding)
        forgotten = set[str]()
        for finding, moment in self._excusable:
            user = finding.user_id
            if receipts.covers(user, finding.domain, moment):
                forgotten.add(user)
            else:
                self._done.add(finding)
        if self._anchor is not None:
            self._compare_anchor(self._anchor, receipts)
        if self._user is not None and not self._is_known:
            if receipts.has_scope(self._user, self._domain):
                forgotten.add(self._user)
            elif not self._done.found:
                what = "there is neither a log nor a receipt"
                self._done.add(Finding(Kind.UNKNOWN, self._user, self._domain or "", what))
        self._done.forgotten = len(forgotten)
        if self._into is not None:
            for receipt in receipts.by_subject.values():
                mark = receipt_mark(receipt, self._names)
                self._into.receipts[mark.person] = mark

    def _compare_anchor(self, anchor: Anchor, receipts: Receipts) -> None:
        """Report skills and receipts of the anchor that are gone."""
        by_person = {self._names.person(receipt.subject): receipt for receipt in receipts.by_subject.values()}
        # A person who has left a trace elsewhere can be named.
        named = {
            self._names.skill(subject_of(each.user_id), each.domain): (each.user_id, each.domain)
            for each in self._done.findings
            if each.user_id
        }
        subject = subject_of(self._user or "")
        person = None if self._user is None else self._names.person(subject)
        skill = None if self._domain is None else self._names.skill(subject, self._domain)
        for mark in self._unmatched.values():
            if person not in (None, mark.person) or skill not in (None, mark.skill):
                continue
            receipt = by_person.get(mark.person)
            if not is_excused(mark, [receipt] if receipt else [], self._names, anchor.since):
                what = (
                    f"the anchor knows version {mark.version} of a skill of the person whom it calls {mark.person}; "
                    "there is neither a log nor a receipt of it"
                )
                user, domain = named.get(mark.skill, (self._user or "", self._domain or ""))
                self._done.add(Finding(Kind.VANISHED, user, domain, what))
        for known in anchor.receipts.values():
            fault = receipt_fault(known, by_person.get(known.person), self._names)
            if fault is not None and person in (None, known.person):
                self._done.add(Finding(fault.kind, self._user or "", "", fault.what))
