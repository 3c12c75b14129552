"""Run the demo: an app that produces events against the whole pipeline on one machine."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from operators.learning.fold import fold
from schemas.base import Event, ItemId
from schemas.codec import encode
from schemas.diffs import PolicySkill, SkillDiff
from schemas.events import Interaction, Ranking, RankRequest, Selection
from schemas.items import Item
from schemas.statements import Correction, Directive, Stance, Utterance
from streams.analytics import MaterializerError, read
from streams.kafka.producer import EventWriter, envelope
from streams.local.demo.observer import STALLED_SECONDS, Observer, PipelineOutputs
from streams.local.demo.scenario import DemoChoice, Scenario
from streams.local.pipeline import LocalPipeline
from streams.settings import RankerName, ReasonerName, Settings

IDLE_CHECK_SECONDS = 0.5
# A worker that has committed a selection has sent its contrast: the second check includes that.
IDLE_CHECKS = 2
DUCKDB_SECONDS = 60.0
# A record of a healthy pipeline may wait for about this many LLM calls.
CALLS = 10
COUNTS = """
    SELECT (SELECT count(*) FROM skill_diffs), (SELECT count(*) FROM corrections), (SELECT count(*) FROM feedback),
           (SELECT count(*) FROM card_diffs)
"""

Progress = Callable[[str, int, int], None]  # receives a stage's name, its progress, and its total


@dataclass(frozen=True)
class DemoResult:
    """The result of a demo run."""

    events_in: dict[str, int]  # the app's events, by topic
    seen: PipelineOutputs
    skills: dict[tuple[str, str], PolicySkill]
    firsts: dict[tuple[str, str], SkillDiff]
    selections: int
    test_choices: int
    before: dict[int, float]  # hit rates at 1, 3 and 5 on the test choices, with the prior alone
    after: dict[int, float]  # with the evolved skills
    agreement: tuple[float, float]  # of learned and hidden policies, before and after
    fold_agrees: bool  # log, skills topic and DuckDB are byte-equal
    evolve_seconds: float
    seconds: float
    duckdb: Path


class Demo:
    """One run of a scenario against a local pipeline."""

    def __init__(self, scenario: Scenario, local: LocalPipeline, progress: Progress) -> None:
        self._scenario, self._local, self._progress = scenario, local, progress
        waiting = CALLS * local.settings.llm_timeout_seconds if uses_llm(local.settings) else 0.0
        self._observer = Observer(local.settings, local.check, STALLED_SECONDS + waiting)
        self._events = EventWriter(local.settings)
        self._counts: Counter[str] = Counter()
        self._selections = 0
        self._idle_checks, self._next_idle_check = 0, 0.0

    def run(self) -> DemoResult:
        """Stream everything, wait for the pipeline, and measure; raise `PipelineStalled` if it stops."""
        began = time.monotonic()
        test_choices = self._scenario.test_choices()
        self._load_past()
        before = self._measure(test_choices, "before")
        evolving = time.monotonic()
        for choices in self._scenario.rounds():
            self._stream(choices)
        evolve_seconds = time.monotonic() - evolving
        # Weights are written a while after the last choice, and the measurement ranks with them.
        self._reset_idle_check()
        self._observer.wait(self._is_idle, "weights")
        after = self._measure(test_choices, "after")
        self._observer.read_to_end()
        seen = self._observer.seen
        # The figures are about choices alone, so the statements come after them.
        learned = self._fold()
        self._send_statements(learned)
        skills = self._fold()
        firsts: dict[tuple[str, str], SkillDiff] = {
            (d.user_id, d.domain): d for d in seen.diffs.values() if d.version == 1
        }
        agrees = self._fold_agrees(skills)
        self._observer.close()
        return DemoResult(
            events_in=dict(self._counts),
            seen=seen,
            skills=skills,
            firsts=firsts,
            selections=self._selections,
            test_choices=len(test_choices),
            before=before,
            after=after,
            agreement=self._scenario.agreement(learned, firsts),
            fold_agrees=agrees,
            evolve_seconds=evolve_seconds,
            seconds=time.monotonic() - began,
            duckdb=self._local.settings.duckdb_file,
        )

    def _fold(self) -> dict[tuple[str, str], PolicySkill]:
        diffs = sorted(self._observer.seen.diffs.values(), key=lambda diff: diff.version)
        return {(str(user), str(domain)): skill for (user, domain), skill in fold(diffs).items()}

    def _send(self, event: Event) -> None:
        self._events.send(event)
        self._counts[event.TOPIC] += 1

    def _load_past(self) -> None:
        now = datetime.now(UTC)
        for domain, item in self._scenario.catalogue():
            self._send(Item(**envelope(now), domain=domain, item=item))
        for past in self._scenario.past():
            self._send(past)
        self._events.flush()
        counts, total = self._observer.seen.interactions, self._counts[Interaction.TOPIC]
        self._wait(lambda: sum(counts.values()), total, "profiles", "learning the past")

    def _wait(self, count: Callable[[], int], total: int, what: str, stage: str) -> None:
        self._observer.wait(lambda: count() >= total, what, lambda: self._progress(stage, count(), total))

    def _measure(self, choices: Sequence[DemoChoice], when: str) -> dict[int, float]:
        """Request rankings of the test choices; without a selection, nothing is learned from them."""
        wanted = {f"{when}-{choice.choice_id}": choice for choice in choices}
        self._request_rankings(wanted, f"ranking, {when} evolution")
        rankings = self._observer.seen.rankings
        ranks = []
        for name, choice in wanted.items():
            order = [item.item_id for item in rankings[name].candidates]
            ranks.append(1 + order.index(ItemId(choice.target)))
        return {top: sum(rank <= top for rank in ranks) / max(1, len(ranks)) for top in (1, 3, 5)}

    def _request_rankings(self, wanted: Mapping[str, DemoChoice], stage: str, *, clarify: bool = False) -> None:
        """Request a ranking of each choice by its id here, and wait for all of them."""
        for name, choice in wanted.items():
            whose = {"user_id": choice.user_id, "domain": choice.domain, "candidates": choice.candidates}
            self._send(RankRequest(**envelope(choice.at), request_id=name, clarify=clarify, **whose))
        self._events.flush()
        seen = self._observer.seen.rankings
        self._wait(lambda: sum(name in seen for name in wanted), len(wanted), "rankings", stage)

    def _stream(self, choices: Sequence[DemoChoice]) -> None:
        """Stream one round of choices, in our ranker's or the app's order, and wait for their diffs."""
        with_skill = [choice for choice in choices if self._scenario.has_skill(choice.user_id)]
        for choice in choices:
            if choice not in with_skill:
                shown = {"ranking_id": choice.choice_id, "domain": choice.domain, "candidates": choice.candidates}
                self._send(Ranking(**envelope(choice.at), user_id=choice.user_id, **shown))
        self._request_rankings({choice.choice_id: choice for choice in with_skill}, "choosing")
        for choice in choices:
            self._send(Selection(**_after(choice), ranking_id=choice.choice_id, item_id=choice.target))
        self._selections += len(choices)
        self._events.flush()
        seen = self._observer.seen
        self._reset_idle_check()

        def done() -> bool:
            # A skill that is frozen or past its warm-up makes no diff from a choice.
            return len(seen.diffs) + len(seen.dead_letters) >= self._selections or self._is_idle()

        self._observer.wait(
            done, "skill diffs", lambda: self._progress("evolving skills", len(seen.diffs), self._selections)
        )

    def _send_statements(self, skills: Mapping[tuple[str, str], PolicySkill]) -> None:
        """Send the users' statements, then last lists: declined, or their question answered."""
        if uses_llm(self._local.settings):
            return  # each sentence would cost an LLM call
        seen = self._observer.seen
        expected, chats = len(seen.diffs), set[str]()
        for event in self._scenario.statements(skills):
            self._send(event)
            if isinstance(event, Utterance):
                chats.add(event.user_id)
            else:
                expected += 1
        lists = {choice.choice_id: choice for choice in self._scenario.last_lists()}
        self._request_rankings(lists, "asking questions", clarify=True)
        for place, (name, choice) in enumerate(lists.items()):
            fit = seen.rankings[name].injected.fit
            if place % 2 == 0:
                self._send(Selection(**_after(choice), ranking_id=name, none_taken=True))
            elif fit is not None and fit.question is not None:
                question = fit.question
                answer = Directive(stance=Stance.PREFERS, dimension=question.dimension, value=question.options[0].value)
                about = {"domain": choice.domain, "ranking_id": name, "answers": question.question_id}
                self._send(Correction(**_after(choice), **about, directives=(answer,)))
            else:
                continue
            expected += 1
        self._events.flush()
        self._reset_idle_check()

        def done() -> bool:
            # A skill that is frozen or past its warm-up makes no diff from a signal.
            given = len(seen.diffs) + len(seen.dead_letters)
            return chats <= seen.cards.keys() and (given >= expected or self._is_idle())

        stage = "learning from statements"
        self._observer.wait(done, "diffs of statements", lambda: self._progress(stage, len(seen.diffs), expected))
        self._observer.read_to_end()

    def _reset_idle_check(self) -> None:
        self._idle_checks, self._next_idle_check = 0, time.monotonic() + IDLE_CHECK_SECONDS

    def _is_idle(self) -> bool:
        """Return True if the worker has committed every record, including its own."""
        if time.monotonic() >= self._next_idle_check:
            self._next_idle_check = time.monotonic() + IDLE_CHECK_SECONDS
            self._idle_checks = 0 if self._local.records_left() else self._idle_checks + 1
        return self._idle_checks >= IDLE_CHECKS

    def _fold_agrees(self, skills: dict[tuple[str, str], PolicySkill]) -> bool:
        """Return True if log, skills topic and DuckDB are equal, byte for byte (invariant 1)."""
        seen = self._observer.seen
        folded = {key: encode(skill) for key, skill in skills.items()}
        self._observer.wait(lambda: seen.skills == folded, "skills")
        wanted = (len(seen.diffs), self._counts["corrections"], self._counts["feedback"], len(seen.card_diffs))
        give_up, before = time.monotonic() + DUCKDB_SECONDS, -1
        while time.monotonic() < give_up:
            try:
                with read.connect(self._local.settings) as con:
                    rows = con.execute("SELECT user_id, domain, document FROM skills").fetchall()
                    [counts] = con.execute(COUNTS).fetchall()
            except MaterializerError:  # no snapshot yet
                rows, counts = [], (0, 0, 0, 0)
            self._progress("filling DuckDB", counts[0], len(seen.diffs))
            if counts == wanted and {(user, domain): text.encode() for user, domain, text in rows} == folded:
                return True
            if sum(counts) != before:
                give_up, before = time.monotonic() + DUCKDB_SECONDS, sum(counts)
            self._local.check()
            time.sleep(0.5)
        return False


def _after(choice: DemoChoice) -> dict[str, Any]:
    """Return the envelope and user of an event one minute after a choice."""
    return {**envelope(choice.at + timedelta(minutes=1)), "user_id": choice.user_id}


def uses_llm(settings: Settings) -> bool:
    """Return True if these settings use an LLM."""
    uses_rules = settings.reasoner is not ReasonerName.LLM and settings.ranker is RankerName.DETERMINISTIC
    return not uses_rules or settings.extract_by is ReasonerName.LLM
