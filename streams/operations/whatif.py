"""Replays past choices with other settings, and reports the difference."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import orjson
from confluent_kafka import TopicPartition

from operators.audit import without_seals
from operators.evolve.proposals import without_model
from operators.learning.evidence import to_fixed_point
from operators.learning.fold import OutOfOrder
from operators.steps.evolve import Reason
from operators.whatif import ReplayMoment, ReplaySeries, ReplaySide, replay, replay_series
from schemas import Contrast, GlobalSkill, PolicySkill, Receipt, SkillCommand, SkillDiff, compound_key
from schemas.codec import BadRecord, ModelT, decode, subject_digest
from schemas.diffs import TradeOff
from streams.exceptions import StreamsError, TopicsDiffer
from streams.kafka.clients import partition_of
from streams.kafka.scanner import Scanner, sent_at_ms
from streams.operations.global_skills import read_published
from streams.settings import Settings
from streams.steps import evolve_of, limits_of, rank_of
from streams.worker.reasoning.llm import close_clients, reasoner_of

# The settings that a replay may change; the start of skills and the privacy filter are fixed.
SETTINGS: Final = (
    *("reasoner", "evolve_mode", "warmup_rounds", "rank_skill"),
    *("llm_base_url", "llm_model", "llm_timeout_seconds", "llm_attempts", "llm_retry_seconds", "llm_sizes_in_schema"),
    *("llm_price_prompt", "llm_price_completion"),
)

OnProgress = Callable[[int, int, str], None]  # receives progress: choices done, choices known, and the cost so far


class InvalidVariant(StreamsError, ValueError):
    """A replay cannot set this name."""


class NothingToReplay(StreamsError, LookupError):
    """No choice on the topic matches."""


@dataclass(frozen=True)
class ReplayFilter:
    """The choices to replay; earlier ones build the common start."""

    since_ms: int = 0  # since 1970
    user: str | None = None
    domain: str | None = None
    limit: int | None = None  # about this many choices, of whole users


@dataclass
class ReplayReport:
    """The result of a replay."""

    skills: int = 0  # that were replayed
    identical: int = 0  # of them, with equal results
    skipped: int = 0  # choices that the live skill has not learned from
    missing: int = 0  # live diffs whose event is no longer on Kafka; the other side skips them
    broken: int = 0  # skills with a gap in their log
    unavailable: int = 0  # choices for which the other side's reasoner failed
    llm_calls: int = 0  # of the other side
    cost_dollars: float = 0.0
    # The user, the live rank and the other rank of each choice.
    choices: list[tuple[str, int, int]] = field(default_factory=list)

    def add(self, moment: ReplayMoment, variant: Settings) -> None:
        """Count one event of both sides."""
        self.unavailable += bool(moment.unavailable)
        if moment.contrast is None:
            return
        self.choices.append((moment.contrast.user_id, *moment.places))
        if moment.diff is not None:
            by = moment.diff.reasoned_by
            self.llm_calls += by.calls
            self.cost_dollars += variant.llm_cost(by.prompt_tokens, by.completion_tokens)


def variant_of(settings: Settings, changes: list[str]) -> tuple[Settings, dict[str, str]]:
    """Return the changed settings, and the changes by name.

    Each change is `NAME=VALUE`; the value `none` means None.
    """
    changed = {name: value for name, _, value in (word.partition("=") for word in changes)}
    if unknown := sorted(changed.keys() - set(SETTINGS)):
        names = ", ".join(SETTINGS)
        raise InvalidVariant(f"a replay cannot change {', '.join(unknown)}. Write NAME=VALUE with one of {names}")
    own = {name: None if value == "none" else value for name, value in changed.items()}
    return Settings(**{**settings.model_dump(), **own}) if own else settings, changed  # a new object is validated


def side_of(settings: Settings, published: Mapping[str, GlobalSkill]) -> ReplaySide:
    """Build the other side of a replay."""
    # Without a fallback to rules: choices of a failed model must count as unavailable.
    reason: Reason = without_model(settings.evolve_mode).reason
    if settings.reasoner == "llm":
        reason = reasoner_of(settings).reason
    usual = {domain: to_fixed_point(skill.usual) for domain, skill in published.items()}
    items = {domain: {str(name): users for name, users in skill.items.items()} for domain, skill in published.items()}
    return ReplaySide(evolve_of(settings, limits_of(settings)), reason, rank_of(settings).lines, usual.get, items.get)


def comparable(skill: PolicySkill) -> PolicySkill:
    """Return the skill without seals, slim lines and trade-off."""
    # They depend on other users, or on a model.
    bare = without_seals(skill)
    last = bare.last_diff and bare.last_diff.model_copy(update={"slim_lines": None, "slim_by": None, "trade_off": None})
    return bare.model_copy(update={"slim_lines": (), "trade_off": TradeOff(), "last_diff": last})


def replay_all(
    settings: Settings, variant: Settings, chosen: ReplayFilter, *, on_progress: OnProgress = lambda *_: None
) -> ReplayReport:
    """Replay choices with other settings."""
    run = _Run(settings, variant, on_progress)
    with Scanner(settings) as scanner:
        asyncio.run(run.all(_histories(scanner, chosen)))
    if not run.report.choices:
        raise NothingToReplay(
            "no choice matches: is there anything on the topic contrasts, which keeps 30 days, and is SAGER_PREFIX "
            "right? `sager topics` checks the topics"
        )
    return run.report


class _Run:
    def __init__(self, settings: Settings, variant: Settings, on_progress: OnProgress) -> None:
        self._settings, self._variant, self._on_progress = settings, variant, on_progress
        self.report = ReplayReport()
        self._other = side_of(variant, read_published(settings))
        self._live_lines = rank_of(settings).lines
        self._known = 0

    async def all(self, partitions: Iterable[list["_History"]]) -> None:
        """Replay partition by partition; the skills of one run concurrently."""
        limit = asyncio.Semaphore(self._settings.in_flight)
        try:
            for histories in partitions:
                found = [each for history in histories if (each := self._series(history)) is not None]
                self._known += sum(each.choices for each in found)
                async with asyncio.TaskGroup() as group:
                    for each in found:
                        group.create_task(self._replay(each, limit))
        finally:
            await close_clients()

    def _series(self, history: "_History") -> ReplaySeries | None:
        try:
            diffs = sorted(history.diffs, key=lambda diff: diff.version)
            found = replay_series(diffs, history.choices, history.commands) if diffs else None
        except OutOfOrder:
            self.report.broken += 1
            return None
        self.report.skipped += len(history.choices) - (found.choices if found else 0)
        self.report.missing += found.missing if found else 0
        return found if found and found.choices else None

    async def _replay(self, told: ReplaySeries, limit: asyncio.Semaphore) -> None:
        report, live, other = self.report, told.start, told.start
        async with limit:
            async for moment in replay(told, self._live_lines, self._other):
                report.add(moment, self._variant)
                live, other = moment.live, moment.other
                if moment.contrast is not None:
                    cost = f"{report.llm_calls:,} calls, ${report.cost_dollars:,.2f}" if report.llm_calls else ""
                    self._on_progress(len(report.choices), self._known, cost)
        report.skills += 1
        report.identical += comparable(live) == comparable(other)


@dataclass
class _History:
    """The records of one user in one domain."""

    choices: dict[str, bytes] = field(default_factory=dict)
    diffs: list[SkillDiff] = field(default_factory=list)
    commands: dict[str, SkillCommand] = field(default_factory=dict)


def _histories(scanner: Scanner, chosen: ReplayFilter) -> Iterator[list[_History]]:
    """Yield the selected histories, one partition in memory at a time."""
    topics = (Contrast.TOPIC, SkillDiff.TOPIC, SkillCommand.TOPIC)
    contrasts, diffs, commands = map(scanner.partitions, topics)
    count, left = len(contrasts), chosen.limit
    if not count == len(diffs) == len(commands):
        raise TopicsDiffer(f"{', '.join(topics)} have different numbers of partitions: run `sager topics`")
    # Erased users are skipped: their choices stay on the topic until its retention ends.
    erased = {receipt.subject for receipt in _records(scanner, Receipt, *scanner.partitions(Receipt.TOPIC))}
    for number in range(count) if chosen.user is None else [partition_of(chosen.user, count)]:
        found = _choices(scanner, chosen, contrasts[number], count, erased)
        if left is not None:
            found = _sample(found, left)
            left -= sum(len(history.choices) for history in found.values())
        if not found:
            continue
        for diff in _records(scanner, SkillDiff, diffs[number]):
            if history := found.get(compound_key(diff.user_id, diff.domain)):
                history.diffs.append(diff)
        for command in _records(scanner, SkillCommand, commands[number]):
            if history := found.get(compound_key(command.user_id, command.domain)):
                history.commands.setdefault(command.event_id, command)
        yield list(found.values())


def _choices(
    scanner: Scanner, chosen: ReplayFilter, where: TopicPartition, partitions: int, erased: set[str]
) -> dict[bytes, _History]:
    """Read the selected choices of a partition, by user and domain."""
    found: dict[bytes, _History] = {}
    since, begun = chosen.since_ms, False
    for message in scanner.read(scanner.from_time([where], since) if since else [where]):
        # All choices after the first recent one, because a gap cannot be replayed.
        begun = begun or sent_at_ms(message) >= since
        raw = message.value() or b""
        try:
            head = orjson.loads(raw)
            user_id, domain, event_id = head["user_id"], head["domain"], head["event_id"]
            key, is_here = compound_key(user_id, domain), partition_of(user_id, partitions) == where.partition
        except (ValueError, TypeError, KeyError, AttributeError):  # the worker has dead-lettered it
            continue
        wanted = chosen.user in (None, user_id) and chosen.domain in (None, domain)
        if begun and is_here and wanted and subject_digest(user_id) not in erased:
            found.setdefault(key, _History()).choices.setdefault(event_id, raw)
    return found


def _sample(found: dict[bytes, _History], choices: int) -> dict[bytes, _History]:
    """Draw whole histories until they have this many choices."""
    drawn: dict[bytes, _History] = {}
    # By a hash of the key, so that each run replays the same sample.
    for key in sorted(found, key=lambda key: blake2b(key, digest_size=8).digest()):
        if choices > 0:
            drawn[key] = found[key]
            choices -= len(found[key].choices)
    return drawn


def _records(scanner: Scanner, model: type[ModelT], *where: TopicPartition) -> Iterator[ModelT]:
    for message in scanner.read(list(where)):
        with suppress(BadRecord):  # the materializer and `sager rebuild` report it
            yield decode(model, message.value())
