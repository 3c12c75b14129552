"""Runs over all partitions: folds, catches up, compares, and writes what differs."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile

import orjson
from confluent_kafka import Message, TopicPartition

from operators.chain import is_sealed
from operators.merge import OutOfOrder, merge
from operators.seals import sealed
from operators.slim import slim
from operators.tokens import count_tokens
from schemas import BadRecord, PolicySkill, SkillDiff, SlimSkill, compound_key, decode, encode
from streams import replaced
from streams.exceptions import NotOurs, TopicsDiffer
from streams.kafka.consumer_group import no_workers
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner, int_of
from streams.operations.rebuild import slims
from streams.operations.rebuild.compare import compared, version_in
from streams.operations.rebuild.pseudonyms import rotate
from streams.operations.rebuild.report import Finding, Report
from streams.operations.rebuild.writer import Writer
from streams.settings import Settings
from streams.vouching import vouching_of

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longer than any skill."""

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, how much is done, and about how much there is."""


@dataclass
class _Folded:
    """A skill being folded. `seen` has a digest per version, to tell a second diff of a version from a repeat.

    `gap` says where the log has one; it is reported once nothing later in the log can close it. `forged` names a
    version that is not what was sealed: nothing is written of such a log. `bare`: it has versions without a seal.
    """

    skill: PolicySkill | None = None
    seen: "array[int]" = field(default_factory=lambda: array("Q"))
    gap: str = ""
    forged: str = ""
    bare: bool = False
    rewritten: int = 0
    had: int = 0

    @property
    def broken(self) -> bool:
        """Whether the skill cannot be determined: the log is forged, has a gap, or a worker is rewriting it."""
        return bool(self.gap or self.forged) or len(self.seen) < self.had

    @property
    def why_broken(self) -> str:
        return self.gap or f"being rewritten by a worker, {len(self.seen)} of {self.had} versions so far"


@dataclass
class _Topics:
    """A partition's newest record per key on the two compacted topics."""

    skills: dict[bytes, bytes] = field(default_factory=dict)
    slim_skills: dict[bytes, slims.Told] = field(default_factory=dict)


def rebuild(
    settings: Settings,
    tell: Tell = lambda *_: None,
    *,
    apply: bool = False,
    out: Path | None = None,
) -> Report:
    """Folds the whole log and compares; with `apply`, replaces the skills that differ.

    Args:
        settings: the deployment.
        tell: receives progress.
        apply: write skills that differ or are missing, with their slim skills. No worker may be running.
        out: a file for all folded skills, as JSON lines; its folder must exist.

    Raises:
        NoSuchTopic, BrokerUnreachable, TopicsDiffer: Kafka cannot be read.
        WorkersRunning: with `apply`, a worker is running.
        NotProduced: the broker did not accept the corrections.
        NotOurs: the file holds something else.
        OSError: the file cannot be written.
    """
    if apply:
        no_workers(settings)
    if out is not None:
        _check_older(out)
    with Scanner(settings) as scanner:
        job = _Rebuild(settings, scanner, tell)
        if out is None:
            return job.run(apply, lambda _: None)
        with NamedTemporaryFile(dir=out.parent, prefix=f".{out.name}.", delete=False) as file:
            part = Path(file.name)
            try:
                report = job.run(apply, lambda line: file.write(line + b"\n"))
                file.flush()
                part.replace(out)
            finally:
                part.unlink(missing_ok=True)
        return report


def _check_older(out: Path) -> None:
    """Only an older file of ours is replaced."""
    found = replaced.older(out, MAX_LINE_BYTES)
    if not found:
        return
    try:
        decode(PolicySkill, found.partition(b"\n")[0])
    except BadRecord:
        raise NotOurs(f"{out} holds something else than folded skills: name another file with --out") from None


class _Rebuild:
    def __init__(self, settings: Settings, scanner: Scanner, tell: Tell) -> None:
        self._settings, self._scanner, self._tell = settings, scanner, tell
        self._report = Report()
        self._key = settings.chain_key_bytes
        self._writer = Writer(settings)
        self._ended: set[bytes] = set()
        self._read = {SkillDiff.TOPIC: 0, PolicySkill.TOPIC: 0}

    def run(self, apply: bool, write: Callable[[bytes], object]) -> Report:
        logs, skills, told_on = (
            self._scanner.partitions(base) for base in (SkillDiff.TOPIC, PolicySkill.TOPIC, SlimSkill.TOPIC)
        )
        if not len(logs) == len(skills) == len(told_on):
            raise TopicsDiffer(
                f"skill-diffs, skills and slim-skills have {len(logs)}, {len(skills)} and {len(told_on)} partitions, "
                "and must have the same number. Run `sager topics` to see what is wrong"
            )
        totals = {base: self._scanner.size(where) for base, where in zip(self._read, (logs, skills), strict=True)}
        writer = self._writer if apply else None
        self._ended = slims.end_misplaced(self._scanner, told_on, self._report, writer)
        for log, where, slim_where in zip(logs, skills, told_on, strict=True):
            folded, end = self._fold(log, totals)
            # Before the skills that they follow from.
            told = slims.newest(self._scanner, slim_where, len(told_on))
            topics = _Topics(slim_skills=told, skills=self._newest(where, totals))
            self._catch_up(TopicPartition(log.topic, log.partition, end), folded, topics.skills)
            self._compare(folded, topics)
            self._report.skills += sum(each.skill is not None for each in folded.values())
            for each in folded.values():
                if each.skill is not None and not each.broken:
                    write(encode(each.skill))
            if apply:
                self._apply(log.partition, folded, topics)
        if apply:
            self._report.rotated = rotate(self._settings, self._scanner, self._writer)
        return self._report

    def _fold(self, log: TopicPartition, totals: Mapping[str, int]) -> tuple[dict[bytes, _Folded], int]:
        """The partition's skills, and the offset after the last diff."""
        folded: dict[bytes, _Folded] = {}
        end = 0
        for message in self._counted(SkillDiff.TOPIC, log, totals):
            end = int_of(message.offset()) + 1
            self._report.diffs += 1
            if message.value() is None:
                self._forget(folded, message.key() or b"")
            elif (diff := self._decoded(message)) is not None:
                self._take(folded.setdefault(compound_key(diff.user_id, diff.domain), _Folded()), diff)
        return folded, end

    def _forget(self, folded: dict[bytes, _Folded], key: bytes) -> None:
        """Applies a tombstone on the log: the skill was forgotten, with all versions before."""
        try:
            user_id, domain, _ = orjson.loads(key)
            folded.pop(compound_key(user_id, domain), None)
        except (ValueError, TypeError):
            self._report.note(Finding.UNREADABLE, key, "a tombstone with an invalid key")

    def _take(self, into: _Folded, diff: SkillDiff) -> None:
        if diff.rewritten > into.rewritten and diff.base_version == 0:
            # The log was rewritten to remove a line: earlier versions no longer count.
            into.had = max(into.had, len(into.seen))
            into.skill, into.seen, into.gap, into.rewritten = None, array("Q"), "", diff.rewritten
            into.forged, into.bare = "", False
        if into.gap:
            return
        key = compound_key(diff.user_id, diff.domain)
        digest = _digest(encode(diff))
        if diff.version <= len(into.seen):
            if into.seen[diff.version - 1] != digest:
                self._report.note(Finding.CONFLICT, key, f"version {diff.version}; the first one is kept")
            return
        before = into.skill.chain if into.skill else None
        if diff.chain is None:
            into.bare = True
        elif diff.version == len(into.seen) + 1 and not is_sealed(diff, before, self._key):
            into.forged = into.forged or f"version {diff.version}"
        try:
            into.skill = merge(into.skill, diff)
        except OutOfOrder:
            into.gap = f"version {diff.version} follows {len(into.seen)}"
            return
        into.seen.append(digest)

    def _decoded(self, message: Message) -> SkillDiff | None:
        try:
            diff = decode(SkillDiff, message.value())
        except BadRecord as error:
            where = f"{message.topic()}/{message.partition()}/{message.offset()}: {error.reason}"
            self._report.note(Finding.UNREADABLE, message.key() or b"", where)
            return None
        return diff

    def _catch_up(self, log: TopicPartition, folded: dict[bytes, _Folded], held: Mapping[bytes, bytes]) -> None:
        """Folds on to the versions of skills that workers have evolved since the log was read."""
        ahead: dict[bytes, int] = {}
        for key, value in held.items():
            version = version_in(value)
            if version > len(folded[key].seen if key in folded else ()):
                ahead[key] = version
        for message in self._scanner.read([log]) if ahead else ():
            if message.value() is None:
                continue
            diff = self._decoded(message)
            key = compound_key(diff.user_id, diff.domain) if diff else b""
            if diff is not None and diff.version <= ahead.get(key, 0):
                self._report.diffs += 1
                self._take(folded.setdefault(key, _Folded()), diff)

    def _compare(self, folded: Mapping[bytes, _Folded], topics: _Topics) -> None:
        for key in folded.keys() | topics.skills.keys():
            each, held = folded.get(key, _Folded()), topics.skills.get(key)
            if each.forged:
                self._report.note(Finding.FORGED, key, each.forged)
            elif each.broken:
                self._report.note(Finding.GAP, key, each.why_broken)
            else:
                self._report.note(*compared(key, each.skill, held))
        for key, told in topics.slim_skills.items():
            wrong = self._wrong(key, told, folded, topics)
            if wrong is not None:
                self._report.note(wrong[0], key, wrong[1])

    def _wrong(
        self, key: bytes, told: slims.Told, folded: Mapping[bytes, _Folded], topics: _Topics
    ) -> tuple[Finding, str] | None:
        of_log = len(folded[key].seen) if key in folded else 0
        wrong = slims.wrong_with(key, told, max(of_log, version_in(topics.skills.get(key, b""))), self._key)
        # One of a log without seals gets none.
        is_bare = key in folded and folded[key].bare
        return None if wrong is not None and wrong[0] is Finding.SLIM_UNSEALED and is_bare else wrong

    def _apply(
        self,
        partition: int,
        folded: Mapping[bytes, _Folded],
        topics: _Topics,
    ) -> None:
        """Writes what differs: the skill, with its slim skill.

        Raises:
            WorkersRunning: a worker has started since.
        """
        no_workers(self._settings)
        for key, each in folded.items():
            if each.skill is None or each.broken:
                continue
            finding = compared(key, each.skill, topics.skills.get(key))[0]
            if finding is Finding.AHEAD:
                continue  # a worker sends the diff, and the slim skill with it
            differs = finding in (Finding.DIFFERS, Finding.MISSING)
            if differs:
                self._report.written += self._writer.write(PolicySkill.TOPIC, partition, key, encode(each.skill))
            self._apply_slim(partition, key, each, topics, differs)
        for key, told in topics.slim_skills.items():
            wrong = self._wrong(key, told, folded, topics)
            if key not in folded and wrong is not None and wrong[0] is Finding.SLIM_FORGED:
                self._report.written += self._writer.write(SlimSkill.TOPIC, partition, key, None)
        self._writer.flush()

    def _apply_slim(
        self,
        partition: int,
        key: bytes,
        each: _Folded,
        topics: _Topics,
        differs: bool,
    ) -> None:
        """Writes the right slim skill where the topic has a wrong one, or none although there is something to say.

        None may be there because a repair was cut off between its tombstone and its record.
        """
        if each.skill is None:
            return
        told = topics.slim_skills.get(key)
        wrong = self._wrong(key, told, {key: each}, topics) if told is not None else None
        if not (differs or wrong is not None or told is None or key in self._ended):
            return
        gate = vouching_of(self._settings)
        short = slim(each.skill, count_tokens, self._settings.slim_tokens, vouching=gate)
        if told is None and not short.text:
            return
        if wrong is not None and wrong[0] is not Finding.SLIM_UNSEALED:
            self._report.written += self._writer.write(SlimSkill.TOPIC, partition, key, None)
        raw = encode(short if each.bare else sealed(short, self._key))
        self._report.written += self._writer.write(SlimSkill.TOPIC, partition, key, raw)

    def _newest(self, where: TopicPartition, totals: Mapping[str, int] | None = None) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        records = self._scanner.read([where]) if totals is None else self._counted(PolicySkill.TOPIC, where, totals)
        for message in records:
            key, value = message.key() or b"", message.value()
            if value is None:
                found.pop(key, None)
            else:
                found[key] = unpack(value)
        return found

    def _counted(self, base: str, where: TopicPartition, totals: Mapping[str, int]) -> Iterator[Message]:
        before = self._read[base]

        def tell(done: int, _: int) -> None:
            self._read[base] = before + done
            self._tell(base, before + done, max(totals[base], before + done))

        return self._scanner.read([where], tell)


def _digest(value: bytes) -> int:
    return int.from_bytes(blake2b(value, digest_size=8).digest(), "big")
