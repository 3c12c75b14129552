"""Verifies that nothing was edited or removed in the topics and the DuckDB file.

It goes partition by partition, because a user's log and skills are on the same one: the log of the largest partition,
some 1.5 kB per version, bounds the memory. Workers may keep running: skills are read before the log, which then holds
every version of theirs. A forgotten person has a receipt instead of a log.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from confluent_kafka import Message, TopicPartition
from duckdb import DuckDBPyConnection

from operators.audit import audit, copy_differs
from schemas import BadRecord, PolicySkill, Receipt, SkillDiff, decode, diff_key, subject_of
from streams.exceptions import TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.materializer import read
from streams.operations.rebuild.compare import version_in
from streams.settings import Settings

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, how much is done, and about how much there is."""
MOST_FINDINGS = 1_000
LATE_SECONDS = 1.0
"""A worker writes a skill before it sends the diff: this long to wait for the diff."""
_KEY_PARTS = 3
_ROWS = 1_000

Name = tuple[str, str]
"""User and domain."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was written."""

    user_id: str
    domain: str
    what: str


@dataclass
class Verified:
    """The extent of a verification and its findings.

    Attributes:
        users, skills, versions: how many were verified on the topics.
        copies: versions and skills in DuckDB that were compared with the topics; None if there is no snapshot.
        forgotten: how many have a receipt instead of a log, or copies that DuckDB has not deleted yet.
        findings: the first thousand findings.
        found: the number of findings.
    """

    users: int = 0
    skills: int = 0
    versions: int = 0
    copies: int | None = None
    forgotten: int = 0
    findings: list[Finding] = field(default_factory=list)
    found: int = 0

    def note(self, finding: Finding) -> None:
        """Counts a finding, and keeps it up to a limit."""
        self.found += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


@dataclass
class _Partition:
    """The newest record per key of one partition, for the users to verify."""

    skills: dict[Name, bytes] = field(default_factory=dict)
    log: defaultdict[Name, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    strange: list[Finding] = field(default_factory=list)


def verify(
    settings: Settings, user: str | None = None, domain: str | None = None, tell: Tell = lambda *_: None
) -> Verified:
    """Verifies the skills of all users, or of one.

    Args:
        settings: the deployment, with the key of its seals.
        user: only this one; None: all.
        domain: only this one; None: all.
        tell: receives progress.

    Raises:
        NoSuchTopic, BrokerUnreachable, TopicsDiffer: Kafka cannot be read.
        MaterializerError: the snapshot cannot be read, or belongs to another deployment.
    """
    con = read.connect_own(settings)
    try:
        with Scanner(settings) as scanner:
            return _Verification(settings, scanner, con, user, domain, tell).run()
    finally:
        if con is not None:
            con.close()


class _Verification:
    def __init__(
        self,
        settings: Settings,
        scanner: Scanner,
        con: DuckDBPyConnection | None,
        user: str | None,
        domain: str | None,
        tell: Tell,
    ) -> None:
        self._settings, self._scanner, self._con = settings, scanner, con
        self._user, self._domain, self._tell = user, domain, tell
        self._key = settings.chain_key_bytes
        self._done = Verified(copies=None if con is None else 0)

    def run(self) -> Verified:
        logs, skills = (self._scanner.partitions(base) for base in (SkillDiff.TOPIC, PolicySkill.TOPIC))
        if len(logs) != len(skills):
            raise TopicsDiffer(
                f"skill-diffs has {len(logs)} partitions and skills {len(skills)}, but they must have the same number. "
                "Run `sager topics` to see what is wrong"
            )
        where = list(zip(logs, skills, strict=True))
        if self._user is not None:
            where = [where[partition_of(self._user, len(logs))]]
        for number, (log, of_skills) in enumerate(where):
            self._tell("partitions", number, len(where))
            self._partition(log, of_skills)
        self._tell("partitions", len(where), len(where))
        return self._done

    def _partition(self, log: TopicPartition, of_skills: TopicPartition) -> None:
        held = _Partition()
        self._read_skills(of_skills, held)
        self._read_log(log, held)
        if any(_ahead(held, name) for name in held.skills):
            time.sleep(LATE_SECONDS)
            held.log.clear()
            held.strange.clear()
            self._read_log(log, held)
        names = held.skills.keys() | held.log.keys()
        audited = [Finding(*name, what) for name in sorted(names) for what in self._audited(held, name)]
        copies = list(self._compared(log.partition, held))
        self._count(held, names)
        self._conclude([*held.strange, *audited], copies, is_known=bool(names))

    def _audited(self, held: _Partition, name: Name) -> list[str]:
        try:
            skill = decode(PolicySkill, held.skills[name]) if name in held.skills else None
        except BadRecord as error:
            return [f"the skill cannot be read: {error}"]
        records = held.log.get(name, {})
        return audit([decode(SkillDiff, records[version]) for version in sorted(records)], skill, self._key)

    def _compared(self, partition: int, held: _Partition) -> Iterator[tuple[Finding, datetime]]:
        """Where DuckDB differs from this partition, with the time. It may be behind: only its own rows are compared."""
        for name, version, document in self._documents("skill_diffs", partition):
            if copy_differs(held.log.get(name, {}), version, document):
                there = "differs from" if version in held.log.get(name, {}) else "is not in"
                what = f"version {version} of skill_diffs in DuckDB {there} the log"
                yield Finding(*name, what), decode(SkillDiff, document).occurred_at
        for name, version, document in self._documents("skills", partition):
            record = held.skills.get(name)
            newest = version_in(record or b"")
            if version > newest or (version == newest and copy_differs({version: record or b""}, version, document)):
                what = f"the skill in DuckDB, at version {version}, differs from the topic skills"
                yield Finding(*name, what), decode(PolicySkill, document).occurred_at

    def _documents(self, table: str, partition: int) -> Iterator[tuple[Name, int, bytes]]:
        if self._con is None:
            return
        query = (
            f"SELECT user_id, domain, version, document FROM {table} "  # noqa: S608 - one of two names  # nosec B608
            "WHERE kafka_partition = $1 AND user_id = coalesce($2, user_id) AND domain = coalesce($3, domain)"
        )
        result = self._con.execute(query, [partition, self._user, self._domain])
        while rows := result.fetchmany(_ROWS):
            for user, domain, version, document in rows:
                self._done.copies = (self._done.copies or 0) + 1
                yield (user, domain), version, document.encode()

    def _count(self, held: _Partition, names: Iterable[Name]) -> None:
        self._done.users += len({user for user, _ in names})
        self._done.skills += len(set(names))
        self._done.versions += sum(map(len, held.log.values()))

    def _conclude(
        self, found: Sequence[Finding], copies: Sequence[tuple[Finding, datetime]], *, is_known: bool
    ) -> None:
        """Records the findings, except copies of what was forgotten: DuckDB is some seconds behind."""
        for finding in found:
            self._done.note(finding)
        is_missing = self._user is not None and not is_known
        receipts = self._receipts() if copies or is_missing else {}
        forgotten = set[str]()
        for finding, moment in copies:
            receipt = receipts.get(subject_of(finding.user_id))
            if receipt is not None and receipt.covers(finding.domain, moment):
                forgotten.add(finding.user_id)
            else:
                self._done.note(finding)
        if is_missing and self._user is not None:
            if _forgets(receipts.get(subject_of(self._user)), self._domain):
                forgotten.add(self._user)
            elif not copies:
                self._done.note(Finding(self._user, self._domain or "", "there is neither a log nor a receipt"))
        self._done.forgotten += len(forgotten)

    def _read_skills(self, where: TopicPartition, held: _Partition) -> None:
        for message in self._scanner.read([where]):
            name = _parts(message.key(), 2)
            if name is None or not self._is_meant(str(name[0]), str(name[1])):
                continue
            pair, value = (str(name[0]), str(name[1])), message.value()
            if value is None:
                held.skills.pop(pair, None)
            else:
                held.skills[pair] = value

    def _read_log(self, where: TopicPartition, held: _Partition) -> None:
        for message in self._scanner.read([where]):
            key, value = _parts(message.key(), _KEY_PARTS), message.value()
            if value is None:
                if key is not None and isinstance(key[2], int):
                    held.log[str(key[0]), str(key[1])].pop(key[2], None)
                continue
            try:
                diff = decode(SkillDiff, value)
            except BadRecord as error:
                if key is None or self._is_meant(str(key[0]), str(key[1])):
                    held.strange.append(_unreadable(message, key, error))
                continue
            if not self._is_meant(diff.user_id, diff.domain):
                continue
            if key is not None and message.key() != diff_key(diff.user_id, diff.domain, diff.version):
                what = f"version {diff.version} has the key of another record"
                held.strange.append(Finding(diff.user_id, diff.domain, what))
            held.log[diff.user_id, diff.domain][diff.version] = value
        for name in [name for name, versions in held.log.items() if not versions]:
            del held.log[name]

    def _is_meant(self, user: str, domain: str) -> bool:
        return self._user in (None, user) and self._domain in (None, domain)

    def _receipts(self) -> Mapping[str, Receipt]:
        """All receipts, by subject. Read only if there are findings."""
        found: dict[str, Receipt] = {}
        try:
            where = self._scanner.partitions(Receipt.TOPIC)
        except NoSuchTopic:
            return found
        for message in self._scanner.read(where):
            try:
                receipt = decode(Receipt, message.value())
            except BadRecord:
                continue
            found[receipt.subject] = receipt
        return found


def _ahead(held: _Partition, name: Name) -> bool:
    return version_in(held.skills[name]) > max(held.log.get(name, {}), default=0)


def _parts(key: bytes | None, count: int) -> list[Any] | None:
    """The parts of a compound key; None for any other key, such as those of older releases."""
    try:
        parts = orjson.loads(key or b"")
    except ValueError:
        return None
    return parts if isinstance(parts, list) and len(parts) == count else None


def _forgets(receipt: Receipt | None, domain: str | None) -> bool:
    return receipt is not None and (receipt.person is not None or any(name == domain for name in receipt.domains))


def _unreadable(message: Message, key: list[Any] | None, error: BadRecord) -> Finding:
    user, domain = (str(key[0]), str(key[1])) if key else ("", "")
    place = f"{message.topic()}[{message.partition()}] at {message.offset()}"
    return Finding(user, domain, f"the record {place} cannot be read: {error}")
