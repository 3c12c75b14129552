"""The run over all partitions: read, fold both sides, compare, and write the side tables."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import orjson

from operators.evidence import fixed
from operators.merge import OutOfOrder
from operators.whatif import Lines, Moment, Series, Side, replay, series
from schemas import PolicySkill, SkillDiff, encode
from streams.exceptions import StreamsError
from streams.kafka.scanner import Scanner
from streams.operations.global_skills import read_published
from streams.settings import Settings
from streams.steps import evolve_of, rank_of
from streams.whatif import side_file
from streams.whatif.arms import Knobs, lines_that_rank, side_of
from streams.whatif.reading import Chosen, History, Reader
from streams.whatif.report import Report, comparable
from streams.whatif.side_file import SideFile
from streams.worker.reasoning.llm import close_clients

Tell = Callable[[int, int, str], None]
"""Is told how many choices are done, of how many that are known of, and what they have cost."""


class NothingToReplay(StreamsError, LookupError):
    """No choice is as it was asked for."""


def replay_all(
    settings: Settings,
    knobs: Knobs,
    chosen: Chosen,
    *,
    name: str,
    out: Path,
    tell: Tell = lambda *_: None,
) -> Report:
    """Replay every choice that is asked for, and write what came of it into the side file.

    Nothing is written to Kafka, and nothing to any other file.

    Args:
        settings: the deployment, as its workers have it.
        knobs: the what-if's configuration.
        chosen: which choices.
        name: the run's, in the side file.
        out: the side file.
        tell: is told how far it is.

    Raises:
        NothingToReplay: there is no such choice.
        NoSuchTopic, BrokerUnreachable, TopicsDiffer: Kafka cannot be read.
        NotAReplay: the file is another one, or has a run of this name.
    """
    report = Report(name, dict(knobs.changed), out)
    # Slim skills are chosen by it, as in the workers.
    published = read_published(settings)
    shares = {domain: skill.shares for domain, skill in published.items()}
    usual = {domain: fixed(skill.usual) for domain, skill in published.items()}
    popularity = {domain: cast("Mapping[str, int]", skill.items) for domain, skill in published.items()}
    with Scanner(settings) as scanner:
        reader = Reader(scanner, chosen)
        run = _Run(settings, knobs, shares, usual, popularity, report, tell)
        with SideFile(out, name) as file:
            asyncio.run(run.to_the_end(reader, file, partial(_run_row, settings, chosen, report)))
            if not report.tally.choices:
                raise NothingToReplay(
                    "no choice is as you asked for: is there anything on the topic contrasts, which keeps 30 days, and "
                    "is SAGER_PREFIX right? `sager topics` tells"
                )
            file.keep(_run_row(settings, chosen, report, complete=True))
    return report


class _Run:
    def __init__(
        self,
        settings: Settings,
        knobs: Knobs,
        shares: Mapping[str, Mapping[str, float]],
        usual: Mapping[str, Mapping[str, int]],
        popularity: Mapping[str, Mapping[str, int]],
        report: Report,
        tell: Tell,
    ) -> None:
        self._settings, self._knobs, self._shares, self._report, self._tell = settings, knobs, shares, report, tell
        self._other: Side = side_of(knobs, shares.get, usual=usual.get, popularity=popularity.get)
        self._live_lines: Lines = partial(lines_that_rank, settings, shares.get)
        self._passes_over = evolve_of(settings).passes_over
        self._done = self._known = 0

    async def to_the_end(self, reader: Reader, file: SideFile, run_row: Callable[[], tuple[Any, ...]]) -> None:
        """All of it; what was opened for models is closed again."""
        try:
            await self.all(reader, file, run_row)
        finally:
            await close_clients()

    async def all(self, reader: Reader, file: SideFile, run_row: Callable[[], tuple[Any, ...]]) -> None:
        """One partition after the other; within it many skills at once, and each in its own order.

        What a model was paid for is kept after each partition.
        """
        room = asyncio.Semaphore(self._settings.in_flight)
        for histories in reader.partitions():
            told = [(history, found) for history in histories if (found := self._series(history)) is not None]
            self._known += sum(found.choices for _, found in told)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._replayed(history, found, room)) for history, found in told]
            rows = [task.result() for task in tasks]
            file.add(side_file.OUTCOMES, [row for outcomes, _ in rows for row in outcomes])
            file.add(side_file.SKILLS, [skill for _, skill in rows])
            if rows:
                file.keep(run_row())

    def _series(self, history: History) -> Series | None:
        if not history.diffs:
            # Nobody has learned from these yet, or all of them were passed over: what they started from is not told.
            self._report.pending += len(history.held)
            return None
        diffs = sorted(history.diffs, key=lambda diff: diff.version)
        try:
            found = series(diffs, history.held, history.commands, self._passes_over)
        except OutOfOrder:
            self._report.broken += 1
            return None
        self._report.pending += found.pending
        self._report.missing += found.missing
        return found if found.choices else None

    async def _replayed(
        self, history: History, told: Series, room: asyncio.Semaphore
    ) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]:
        outcomes: list[tuple[Any, ...]] = []
        live = other = told.start
        async with room:
            async for moment in replay(told, self._live_lines, self._other):
                live, other = moment.live, moment.other
                self._report.note(moment)
                if moment.contrast is not None:
                    outcomes.append(self._outcome_row(moment, len(outcomes) + 1))
                    self._done += 1
                    self._tell(self._done, self._known, self._spent())
        tokens = (self._slim_tokens(self._settings, live), self._slim_tokens(self._knobs.settings, other))
        self._report.note_end(live, other, *tokens)
        return outcomes, _skill_row(history, live, other, tokens)

    def _spent(self) -> str:
        costs = self._report.other
        if not costs.calls:
            return ""
        dollars = self._knobs.settings.llm_cost(costs.prompt_tokens, costs.completion_tokens)
        return f"{costs.calls:,} calls" + (f", ${dollars:,.2f}" if dollars else "")

    def _slim_tokens(self, settings: Settings, skill: PolicySkill) -> int:
        return rank_of(settings).extract(skill, shares=self._shares.get(skill.domain)).record.tokens

    def _outcome_row(self, moment: Moment, nth: int) -> tuple[Any, ...]:
        contrast = moment.contrast
        assert contrast is not None  # noqa: S101 - for the type checker
        return (
            contrast.user_id,
            contrast.event_id,
            contrast.occurred_at.astimezone(UTC).replace(tzinfo=None),
            contrast.domain,
            contrast.ranking_id,
            nth,
            1 + len(contrast.unchosen),
            contrast.chosen_rank,
            moment.live_place,
            moment.other_place,
            moment.live_version,
            moment.other_version,
            *_by(self._settings, moment.live_diff),
            *_by(self._knobs.settings, moment.diff),
            moment.unavailable or None,
        )


def _by(settings: Settings, diff: SkillDiff | None) -> tuple[Any, ...]:
    if diff is None:
        return (None, 0, 0, 0, 0, None, 0.0)
    by = diff.reasoned_by
    cost = settings.llm_cost(by.prompt_tokens, by.completion_tokens)
    return (by.reasoner, by.calls, by.prompt_tokens, by.completion_tokens, by.latency_ms, by.fallback, cost)


def _skill_row(history: History, live: PolicySkill, other: PolicySkill, tokens: tuple[int, int]) -> tuple[Any, ...]:
    lines, others = ({line.attribute_id for line in skill.attributes} for skill in (live, other))
    return (
        history.user_id,
        history.domain,
        live.version,
        other.version,
        comparable(live) == comparable(other),
        len(lines),
        len(others),
        len(lines & others),
        *tokens,
        encode(live).decode(),
        encode(other).decode(),
    )


def _run_row(settings: Settings, chosen: Chosen, report: Report, *, complete: bool = False) -> tuple[Any, ...]:
    return (
        datetime.now(UTC).replace(tzinfo=None),
        complete,
        settings.prefix,
        orjson.dumps(report.changed, default=str).decode(),
        orjson.dumps(vars(chosen)).decode(),
        report.tally.users,
        report.skills,
        report.tally.choices,
        report.commands,
        report.pending,
        report.missing,
        report.broken,
        report.unavailable,
    )
