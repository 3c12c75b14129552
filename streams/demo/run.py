"""The demo: one machine, the whole pipeline, an app that produces and a report of what was learned."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from operators.merge import fold
from schemas import (
    Correction,
    Directive,
    Interaction,
    Item,
    PolicySkill,
    Ranking,
    RankRequest,
    Selection,
    SkillDiff,
    Stance,
    Utterance,
    encode,
)
from streams.demo.costs import Costs, costs, http_calls, patience_seconds, uses_llm
from streams.demo.curve import Point, curve
from streams.demo.observer import STALLED_SECONDS, Observer, Seen
from streams.demo.scenario import Choice, Scenario
from streams.kafka.events import EventOutbox, envelope
from streams.local.launch import WORKER, Local
from streams.materializer import read
from streams.materializer.exceptions import MaterializerError

AHEAD = 1_500
"""Selections that may be on their way at once: enough to keep the worker busy, few enough to watch."""
LOOK_SECONDS = 0.5
IDLE_LOOKS = 2
"""A worker that has committed a selection has sent its contrast: the second look includes that."""
DUCKDB_SECONDS = 60.0
WORDS = """
    SELECT (SELECT count(*) FROM corrections), (SELECT count(*) FROM feedback), (SELECT count(*) FROM card_diffs)
"""

Progress = Callable[[str, int, int], None]
"""Told of a stage's name, how far it is, and its total."""


@dataclass(frozen=True)
class Hits:
    """Where the ranker put what the user took, on choices that it never learned from."""

    choices: int
    at_1: float
    at_3: float
    at_5: float


@dataclass(frozen=True)
class Result:
    """What a demo run came to.

    Attributes:
        events_in: events that the app produced, by topic.
        seen: all that came out of the pipeline.
        skills: the final skills.
        firsts: the first diff of every skill, with its seed.
        selections: how many choices were made.
        before, after: the ranker on the held-back choices, with the prior alone and with the evolved skills.
        agreement: learned against hidden policy before and after, where it is known.
        fold_agrees: whether the fold of the log equals the skills topic and DuckDB, byte for byte.
        curve: hit rate by choices seen, with what was learned and with the prior alone.
        evolve_seconds: from the first streamed choice to the last diff.
        seconds: the whole run.
        llm: what the LLM was asked and what that cost; None if the settings ask none.
    """

    events_in: dict[str, int]
    seen: Seen
    skills: dict[tuple[str, str], PolicySkill]
    firsts: dict[tuple[str, str], SkillDiff]
    selections: int
    before: Hits
    after: Hits
    agreement: tuple[float, float] | None
    fold_agrees: bool
    curve: Sequence[Point]
    evolve_seconds: float
    seconds: float
    duckdb: Path
    llm: Costs | None = None


class Demo:
    """One run of a scenario against a local pipeline.

    Args:
        scenario: who chooses what.
        local: the pipeline, running.
        progress: told how far it is.
        most: choices that are streamed per user and domain at most, the first ones; None streams all.
    """

    def __init__(self, scenario: Scenario, local: Local, progress: Progress, most: int | None = None) -> None:
        self._scenario = scenario
        self._local = local
        self._progress = progress
        self._most = most
        # A call may take long, and until it is answered nothing new is seen of a healthy pipeline.
        waiting = patience_seconds(local.settings) if uses_llm(local.settings) else 0.0
        self._observer = Observer(local.settings, local.check, STALLED_SECONDS + waiting)
        self._events = EventOutbox(local.settings)
        self._counts: dict[str, int] = {}
        self._selections = 0
        self._idle_looks, self._next_look = 0, 0.0

    def run(self) -> Result:
        """Stream everything, wait for everything, measure.

        Raises:
            Stalled: the pipeline has stopped answering.
            StreamsError: one of its processes has died.
        """
        began = time.monotonic()
        held = self._scenario.held_back()
        self._load_past()
        before = self._measure(held, "before")
        evolving = time.monotonic()
        for choices in self._streamed():
            self._stream(choices)
        self._wait_for_choices(0)
        evolve_seconds = time.monotonic() - evolving
        # Weights are written a while after the last choice, and the measurement ranks with them.
        self._look_for_idleness()
        self._observer.wait(self._is_idle, "weights")
        after = self._measure(held, "after")
        self._observer.read_to_end()
        seen = self._observer.seen
        learned = sorted(seen.diffs.values(), key=lambda diff: diff.version)
        # The figures are those of choices alone, so words come after them.
        self._speak(fold(learned))
        diffs = sorted(seen.diffs.values(), key=lambda diff: diff.version)
        skills = fold(diffs)
        firsts: dict[tuple[str, str], SkillDiff] = {(d.user_id, d.domain): d for d in diffs if d.version == 1}
        agrees = self._fold_agrees(skills)
        self._observer.close()
        return Result(
            events_in=self._counts,
            seen=seen,
            skills=skills,
            firsts=firsts,
            selections=self._selections,
            before=before,
            after=after,
            agreement=self._scenario.agreement(fold(learned), firsts),
            fold_agrees=agrees,
            curve=curve(learned, seen.contrasts),
            evolve_seconds=evolve_seconds,
            seconds=time.monotonic() - began,
            duckdb=self._local.settings.duckdb_file,
            llm=self._costs(),
        )

    def _speak(self, skills: Mapping[tuple[str, str], PolicySkill]) -> None:
        """Send people's words, then last lists: every other one is declined, the others' questions are answered."""
        if uses_llm(self._local.settings):
            return  # each sentence would cost a model call
        seen = self._observer.seen
        heard = len(seen.diffs)
        chats = set()
        for event in self._scenario.words(skills):
            self._events.send(event)
            self._count(event.TOPIC)
            if isinstance(event, Utterance):
                chats.add(event.user_id)
            else:
                heard += 1
        asked = {self._ask(each, each.choice_id, clarify=True).request_id: each for each in self._scenario.last_lists()}
        self._answers(asked, "asking")
        for place, (name, choice) in enumerate(asked.items()):
            heard += self._decline(choice) if place % 2 == 0 else self._reply(choice, seen.rankings[name])
        self._events.flush()
        self._look_for_idleness()

        def done() -> bool:
            # A skill that is frozen or past its warm-up makes no diff from a signal.
            return chats <= seen.cards.keys() and (len(seen.diffs) + len(seen.dead_letters) >= heard or self._is_idle())

        self._observer.wait(done, "words", lambda: self._progress("taking in words", len(seen.diffs), heard))
        self._observer.read_to_end()

    def _decline(self, choice: Choice) -> int:
        """Decline a list for its user; return the number of events sent."""
        later = choice.at + timedelta(minutes=1)
        self._events.send(
            Selection(**envelope(later), user_id=choice.user_id, ranking_id=choice.choice_id, none_taken=True)
        )
        self._count("selections")
        return 1

    def _reply(self, choice: Choice, ranking: Ranking) -> int:
        """Answer a list's question, if it has one, with the first option; return the number of events sent."""
        question = None if ranking.injected.fit is None else ranking.injected.fit.question
        if question is None:
            return 0
        said = Directive(stance=Stance.PREFERS, dimension=question.dimension, value=question.options[0].value)
        self._events.send(
            Correction(
                **envelope(choice.at + timedelta(minutes=1)),
                user_id=choice.user_id,
                domain=choice.domain,
                ranking_id=choice.choice_id,
                says=(said,),
                answers=question.question_id,
            )
        )
        self._count("corrections")
        return 1

    def _costs(self) -> Costs | None:
        settings = self._local.settings
        if not uses_llm(settings):
            return None
        return costs(self._observer.seen, settings, http_calls(self._local.metrics[WORKER]))

    def _streamed(self) -> Iterator[Sequence[Choice]]:
        """The scenario's rounds, without the choices that are more than we are to stream of a user."""
        counts: Counter[tuple[str, str]] = Counter()
        for choices in self._scenario.rounds():
            kept = []
            for choice in choices:
                counts[choice.user_id, choice.domain] += 1
                if self._most is None or counts[choice.user_id, choice.domain] <= self._most:
                    kept.append(choice)
            if kept:
                yield kept

    def _count(self, topic: str, number: int = 1) -> None:
        self._counts[topic] = self._counts.get(topic, 0) + number

    def _load_past(self) -> None:
        now = datetime.now(UTC)
        for domain, item in self._scenario.catalogue():
            self._events.send(Item(**envelope(now), domain=domain, item=item))
            self._count("items")
        total = 0
        for past in self._scenario.past():
            self._events.send(
                Interaction(**envelope(past.at), user_id=past.user_id, domain=past.domain, item=past.item)
            )
            total += 1
        self._count("interactions", total)
        self._events.flush()

        def counted() -> int:
            return sum(self._observer.seen.interactions.values())

        self._observer.wait(
            lambda: counted() >= total, "profiles", lambda: self._progress("learning the past", counted(), total)
        )

    def _measure(self, held: Sequence[Choice], when: str) -> Hits:
        """Ask our ranker for the held-back choices; nothing is selected, so nothing is learned from them."""
        wanted = {self._ask(choice, f"{when}-{choice.choice_id}").request_id: choice for choice in held}
        answers = self._answers(wanted, f"ranking, {when} evolution")
        places = [1 + answers[name].index(choice.target) for name, choice in wanted.items()]

        def share(top: int) -> float:
            return sum(place <= top for place in places) / len(places) if places else 0.0

        return Hits(len(places), share(1), share(3), share(5))

    def _ask(self, choice: Choice, request_id: str, *, clarify: bool = False) -> RankRequest:
        self._count("rank-requests")
        return self._events.send(
            RankRequest(
                **envelope(choice.at),
                request_id=request_id,
                user_id=choice.user_id,
                domain=choice.domain,
                candidates=choice.candidates,
                clarify=clarify,
            )
        )

    def _answers(self, wanted: Mapping[str, object], what: str) -> dict[str, tuple[str, ...]]:
        self._events.flush()
        rankings = self._observer.seen.rankings

        def answered() -> int:
            return sum(name in rankings for name in wanted)

        self._observer.wait(
            lambda: answered() >= len(wanted), "rankings", lambda: self._progress(what, answered(), len(wanted))
        )
        return {name: tuple(item.item_id for item in rankings[name].candidates) for name in wanted}

    def _stream(self, choices: Sequence[Choice]) -> None:
        """One round of choices: shown as our ranker orders them, or as the app does; then taken."""
        asked = []
        for choice in choices:
            if self._scenario.closed_loop and self._scenario.has_skill(choice.user_id):
                asked.append(choice)
            else:
                self._show(choice)
        self._answers({self._ask(choice, choice.choice_id).request_id: choice for choice in asked}, "choosing")
        for choice in choices:
            self._take(choice)
            self._selections += 1
        self._events.flush()
        self._wait_for_choices(0 if self._scenario.closed_loop else AHEAD)

    def _show(self, choice: Choice) -> None:
        self._count("rankings")
        self._events.send(
            Ranking(
                **envelope(choice.at),
                ranking_id=choice.choice_id,
                user_id=choice.user_id,
                domain=choice.domain,
                candidates=choice.candidates,
            )
        )

    def _take(self, choice: Choice) -> None:
        self._count("selections")
        self._events.send(
            Selection(
                **envelope(choice.at + timedelta(minutes=1)),
                user_id=choice.user_id,
                ranking_id=choice.choice_id,
                item_id=choice.target,
            )
        )

    def _wait_for_choices(self, ahead: int) -> None:
        """Wait until at most `ahead` choices have no diff yet, or the worker is idle.

        A skill that is frozen or past its warm-up makes no diff from a choice.
        """
        seen = self._observer.seen
        self._look_for_idleness()

        def done() -> bool:
            given = len(seen.diffs) + len(seen.dead_letters)
            return given + ahead >= self._selections or self._is_idle()

        self._observer.wait(
            done,
            "skill diffs",
            lambda: self._progress("evolving skills", len(seen.diffs), self._selections),
        )

    def _look_for_idleness(self) -> None:
        self._idle_looks = 0
        self._next_look = time.monotonic() + LOOK_SECONDS

    def _is_idle(self) -> bool:
        """True if the worker has committed every record, those that it wrote itself included."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_SECONDS
            self._idle_looks = 0 if self._local.left() else self._idle_looks + 1
        return self._idle_looks >= IDLE_LOOKS

    def _fold_agrees(self, skills: dict[tuple[str, str], PolicySkill]) -> bool:
        """Whether log, skills topic and DuckDB tell the same, byte for byte (invariant 1)."""
        folded = {(str(user), str(domain)): encode(skill) for (user, domain), skill in skills.items()}
        total = len(self._observer.seen.diffs)
        words = (
            self._counts.get("corrections", 0),
            self._counts.get("feedback", 0),
            len(self._observer.seen.card_diffs),
        )
        self._observer.wait(lambda: self._observer.seen.skills == folded, "skills")
        give_up, before = time.monotonic() + DUCKDB_SECONDS, -1
        while time.monotonic() < give_up:
            try:
                with read.connect(self._local.settings) as con:
                    rows = con.execute("SELECT user_id, domain, document FROM skills").fetchall()
                    diffs = con.execute("SELECT count(*) FROM skill_diffs").fetchall()[0][0]
                    said = con.execute(WORDS).fetchall()[0]
            except MaterializerError:
                rows, diffs, said = [], 0, (0, 0, 0)
            self._progress("filling DuckDB", diffs, total)
            # An earlier run in the same folder has left its own words there.
            has_all = diffs == total and all(there >= sent for there, sent in zip(said, words, strict=True))
            if has_all and {(user, domain): document.encode() for user, domain, document in rows} == folded:
                return True
            if diffs + sum(said) != before:
                give_up, before = time.monotonic() + DUCKDB_SECONDS, diffs + sum(said)
            self._local.check()
            time.sleep(0.5)
        return False
