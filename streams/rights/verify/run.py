"""Runs a verification: partition by partition, and at last what receipts and the anchor say of what is missing."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
from confluent_kafka import KafkaException, TopicPartition

from operators.anchor import Pseudonyms, SkillMark, is_excused, receipt_fault, receipt_mark, skill_faults, skill_mark
from operators.audit import audit, audit_card
from operators.findings import Kind
from schemas import Card, CardDiff, Contrast, PolicySkill, SkillDiff, SlimSkill, subject_of
from streams.exceptions import BrokerUnreachable, TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.consumer_group import committed
from streams.kafka.scanner import Scanner
from streams.materializer import read
from streams.rights.anchors import Anchor, AnchorFile, load
from streams.rights.verify.findings import Finding, Name, Verified
from streams.rights.verify.partition import Held, Reader
from streams.rights.verify.receipts import Receipts
from streams.rights.verify.tables import Tables
from streams.settings import Settings

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, how much is done, and about how much there is."""
_BY_USER = (SkillDiff.TOPIC, PolicySkill.TOPIC, SlimSkill.TOPIC, CardDiff.TOPIC, Card.TOPIC)
CLOCKS = timedelta(minutes=5)
"""How far the clocks of a worker and of whoever verifies may differ."""


def verify(
    settings: Settings,
    user: str | None = None,
    domain: str | None = None,
    tell: Tell = lambda *_: None,
    anchor: Path | None = None,
) -> Verified:
    """Verifies the skills of all users, or of one.

    Args:
        settings: the deployment, with the key of its seals.
        user: only this one; None: all.
        domain: only this one; None: all.
        tell: receives progress.
        anchor: a file that `make_anchor` wrote; None: without one.

    Raises:
        NoSuchTopic, BrokerUnreachable, TopicsDiffer: Kafka cannot be read.
        MaterializerError: the snapshot belongs to another deployment.
        NoAnchor: the anchor is not of this deployment, or was edited.
        OSError: the anchor cannot be read.
    """
    known = load(anchor, settings) if anchor is not None else None
    with Scanner(settings) as scanner:
        return _Verification(settings, scanner, user, domain, tell, known).run()


def make_anchor(settings: Settings, to: Path, tell: Tell = lambda *_: None) -> Verified:
    """Verifies the topics and writes what there is to a file, which is removed again if anything was found.

    Args:
        settings: the deployment, with the key of its seals.
        to: the file; there must be none yet.
        tell: receives progress.

    Raises:
        NoSuchTopic, BrokerUnreachable, TopicsDiffer: Kafka cannot be read.
        NoAnchor: there is no key, or the file exists.
        OSError: the file cannot be written.
    """
    since = datetime.now(UTC) - CLOCKS
    with Scanner(settings) as scanner, AnchorFile(to, settings, since) as file:
        done = _Verification(settings, scanner, None, None, tell, None, file).run()
        if done.found:
            file.discard()
    return done


class _Verification:
    def __init__(
        self,
        settings: Settings,
        scanner: Scanner,
        user: str | None,
        domain: str | None,
        tell: Tell,
        anchor: Anchor | None,
        into: AnchorFile | None = None,
    ) -> None:
        self._settings, self._scanner, self._tell = settings, scanner, tell
        self._user, self._domain, self._anchor, self._into = user, domain, anchor, into
        self._key = settings.chain_key_bytes
        self._names = Pseudonyms(self._key)
        self._done = Verified(anchored=len(anchor.skills) if anchor else None)
        self._pending: list[tuple[Finding, datetime | None]] = []
        self._unmatched: dict[str, SkillMark] = dict(anchor.skills) if anchor else {}
        self._is_known = False
        self._count = 0
        # Read before all else: what they say was removed is not there any more, or somebody has put it back.
        self._removed_before = datetime.now(UTC) - CLOCKS
        self._receipts = Receipts(scanner, self._key)

    def run(self) -> Verified:
        logs, skills, slims, card_logs, cards = self._partitions()
        self._count = len(logs)
        tables = self._tables()
        try:
            numbers = [*range(len(logs))] if self._user is None else [partition_of(self._user, len(logs))]
            beyond = [n for n in tables.numbers if n >= len(logs)] if tables and self._user is None else []
            total = len(numbers) + len(beyond)
            reader = Reader(self._scanner, len(logs), self._is_meant)
            for count, number in enumerate(numbers):
                self._tell("partitions", count, total)
                held = reader.read(logs[number], skills[number], slims[number])
                reader.read_cards(card_logs[number], cards[number], held)
                self._audit(held)
                self._audit_cards(held)
                if tables is not None:
                    self._compare(tables, number, held)
            for count, number in enumerate(beyond, len(numbers)):
                self._tell("partitions", count, total)
                self._compare(tables, number, None)
            if tables is not None:
                tables.finish()
            self._tell("partitions", total, total)
        finally:
            if tables is not None:
                tables.close()
        self._conclude()
        return self._done

    def _partitions(self) -> list[list[TopicPartition]]:
        """The partitions of each topic that is verified by users, in the order of `_BY_USER`."""
        found = [self._scanner.partitions(base) for base in _BY_USER]
        if len(set(map(len, found))) > 1:
            raise TopicsDiffer(
                f"{', '.join(_BY_USER)} have {', '.join(str(len(each)) for each in found)} partitions, but they must "
                "have the same number. Run `sager topics` to see the cause"
            )
        return found

    def _tables(self) -> Tables | None:
        """The comparison with DuckDB; None where there is no snapshot, and for an anchor, which says nothing of it."""
        if self._into is not None:
            return None
        con = read.connect_own(self._settings)
        if con is None:
            return None
        con.close()
        self._done.copies = 0
        counting = list(self._receipts.found.values())
        tables = None
        try:
            tables = Tables(self._settings, self._scanner, counting, self._done, self._pend, self._user, self._domain)
            if tables.begin():
                return tables
        except duckdb.Error as error:
            self._done.note(Finding(Kind.UNREADABLE, "", "", f"the DuckDB snapshot cannot be read: {error}"))
        if tables is not None:
            tables.close()
        return None

    def _is_meant(self, user: str, domain: str) -> bool:
        return self._user in (None, user) and self._domain in (None, domain)

    def _audit(self, held: Held) -> None:
        """Verifies the skills of one partition."""
        for finding in held.strange:
            self._done.note(finding)
        names = sorted(held.names)
        self._is_known = self._is_known or bool(held.log or held.skills)
        for name in names:
            diffs, slim = held.diffs(name), held.slims.get(name)
            for fault in audit(diffs, held.skills.get(name), slim, self._key):
                finding = Finding(fault.kind, *name, fault.what)
                # A slim skill or a skill whose log went meanwhile was forgotten meanwhile.
                self._pend(finding, _erased_at(fault.kind, held.skills.get(name), slim))
            self._check_forgotten(name, [*diffs, held.skills.get(name), slim])
            if diffs:
                self._mark(name, diffs, slim)
        of_log = {name for name in names if name in held.log or name in held.skills}
        self._done.users += len({user for user, _ in of_log})
        self._done.skills += len(of_log)
        self._done.versions += sum(map(len, held.log.values()))

    def _audit_cards(self, held: Held) -> None:
        """Verify the cards of one partition."""
        for user in sorted({*held.cards, *held.card_log}):
            diffs, card = held.card_diffs(user), held.cards.get(user)
            for fault in audit_card(diffs, card, self._key):
                moment = card.occurred_at if card is not None and fault.kind is Kind.LOG_CUT else None
                self._pend(Finding(fault.kind, user, "", fault.what), moment)
            self._check_forgotten((user, ""), [*diffs, card])
            self._done.cards += 1
        self._is_known = self._is_known or bool(held.cards)

    def _check_forgotten(
        self, name: Name, records: Sequence[SkillDiff | PolicySkill | SlimSkill | CardDiff | Card | None]
    ) -> None:
        """Notes what a receipt says was removed. It bears the seal that it always had."""
        for record in records:
            if record is not None and self._receipts.has_removed(*name, record.occurred_at, self._removed_before):
                what = f"what was forgotten is on the topic {record.TOPIC} again"
                self._done.note(Finding(Kind.RETURNED, *name, what))
                return

    def _mark(self, name: Name, diffs: Sequence[SkillDiff], slim: SlimSkill | None) -> None:
        """Compares one skill with the anchor, or adds it to the one that is made."""
        if self._into is not None:
            self._into.skill(skill_mark(diffs, slim, self._names))
        if self._anchor is not None:
            mark = self._unmatched.pop(self._names.skill(subject_of(name[0]), name[1]), None)
            receipt = self._receipts.of(name[0])
            faults = skill_faults(mark, diffs, slim, receipt, self._anchor.since) if mark is not None else []
            for fault in faults:
                self._pend(Finding(fault.kind, *name, fault.what), self._anchor.since)

    def _compare(self, tables: Tables | None, number: int, held: Held | None) -> None:
        if tables is None:
            return
        try:
            tables.compare(number)
            traces = list(tables.traces(number, self._worked_off(number))) if held is not None else []
        except duckdb.Error as error:
            what = f"DuckDB's rows of partition {number} cannot be read: {error}"
            self._done.note(Finding(Kind.UNREADABLE, "", "", what))
            return
        for user, domain, version, moment in traces:
            name = (user, domain)
            if held is None or partition_of(user, self._count) != number or held.newest(name) >= version:
                continue
            if held.newest(name):
                what = f"version {version} was in use, and the log ends at version {held.newest(name)}"
                self._pend(Finding(Kind.LOG_CUT, *name, what), moment)
            else:
                what = "there are rows in DuckDB of a skill that has neither a log nor a receipt"
                self._pend(Finding(Kind.VANISHED, *name, what), moment)

    def _worked_off(self, number: int) -> int:
        """Up to which offset workers have learned from contrasts; 0 where nobody can tell, or they learn nothing."""
        where = TopicPartition(self._settings.topic(Contrast.TOPIC), number)
        if self._settings.warmup_rounds == 0:
            return 0
        try:
            return committed(self._settings, [where]).get((where.topic, number), 0)
        except (KafkaException, BrokerUnreachable):
            return 0

    def _pend(self, finding: Finding, moment: datetime | None) -> None:
        """Notes a finding at once, or, if a receipt may excuse it, at the end."""
        if moment is None:
            self._done.note(finding)
        else:
            self._pending.append((finding, moment))

    def _conclude(self) -> None:
        """Judges by the receipts as they are now: of what was forgotten meanwhile, the receipt was written first."""
        receipts = self._receipts
        if self._pending or self._unmatched or self._into or self._anchor or self._user is not None:
            receipts = Receipts(self._scanner, self._key)
        self._done.receipts = len(receipts.found)
        for finding in receipts.findings:
            self._done.note(finding)
        forgotten = set[str]()
        for finding, moment in self._pending:
            if moment is not None and _is_excused(finding, moment, receipts):
                forgotten.add(finding.user_id)
            else:
                self._done.note(finding)
        if self._user is not None and not self._is_known:
            if receipts.forgets(self._user, self._domain):
                forgotten.add(self._user)
            elif not self._done.found:
                what = "there is neither a log nor a receipt"
                self._done.note(Finding(Kind.UNKNOWN, self._user, self._domain or "", what))
        self._done.forgotten += len(forgotten)
        if self._anchor is not None:
            self._compare_anchor(self._anchor, receipts)
        if self._into is not None:
            for receipt in receipts.found.values():
                self._into.receipt(receipt_mark(receipt, self._names))

    def _compare_anchor(self, anchor: Anchor, receipts: Receipts) -> None:
        """What the anchor knows and nobody has met."""
        by_person = {self._names.person(receipt.subject): receipt for receipt in receipts.found.values()}
        # Whoever has left a trace elsewhere can be named.
        named = {
            self._names.skill(subject_of(each.user_id), each.domain): (each.user_id, each.domain)
            for each in self._done.findings
            if each.user_id
        }
        asked = None if self._user is None else self._names.person(subject_of(self._user))
        for mark in self._unmatched.values():
            if asked is not None and mark.person != asked:
                continue
            if self._domain is not None and mark.skill != self._names.skill(subject_of(self._user or ""), self._domain):
                continue  # of a domain of nobody in particular nobody can tell
            receipt = by_person.get(mark.person)
            if not is_excused(mark, [receipt] if receipt else [], self._names, anchor.since):
                what = (
                    f"the anchor knows version {mark.version} of a skill of the person whom it calls {mark.person}; "
                    "there is neither a log nor a receipt of it"
                )
                user, domain = named.get(mark.skill, (self._user or "", self._domain or ""))
                self._done.note(Finding(Kind.VANISHED, user, domain, what))
        for known in anchor.receipts.values():
            if asked is not None and known.person != asked:
                continue
            fault = receipt_fault(known, by_person.get(known.person), self._names)
            if fault is not None:
                self._done.note(Finding(fault.kind, self._user or "", "", fault.what))


def _erased_at(kind: Kind, skill: PolicySkill | None, slim: SlimSkill | None) -> datetime | None:
    """The time that a receipt must cover to explain a log that has vanished; None if no receipt can explain it."""
    if kind is Kind.SLIM_WITHOUT_LOG and slim is not None:
        return slim.occurred_at
    return skill.occurred_at if kind is Kind.LOG_CUT and skill is not None else None


def _is_excused(finding: Finding, moment: datetime, receipts: Receipts) -> bool:
    """Whether what was found is what somebody has had forgotten."""
    if finding.kind is Kind.ROW_MISSING:
        # DuckDB deletes a little more than the receipt names: selections of a domain's rankings, a line's words.
        return receipts.touches(finding.user_id, moment)
    return receipts.covers(finding.user_id, finding.domain, moment)
