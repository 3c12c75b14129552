"""The demo's app: it sends events to a local pipeline."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from confluent_kafka import TopicPartition

from operators.learning.fold import fold
from schemas import CONSUMED_TOPICS, DeadLetter, Event, Item, PolicySkill, SkillDiff, SlimSkill, decode, encode
from schemas.events import Contrast, Ranking, RankRequest, Selection
from schemas.statements import Correction, Directive, Stance
from streams.analytics import read
from streams.exceptions import StreamsError
from streams.kafka.producer import RecordWriter, envelope
from streams.kafka.scanner import Scanner, int_of
from streams.local.demo.scenario import DemoChoice, Scenario, SkillKey
from streams.local.pipeline import LocalPipeline
from streams.rights.verify import verify
from streams.settings import Settings

# A record of a healthy pipeline may wait for about this many LLM calls.
CALLS = 10

Progress = Callable[[str, int, int], None]  # receives a stage's name, its progress, and its total


# A repeated output replaces the earlier one with the same id.
_ID_OF: dict[type[Event], Callable[[Any], Any]] = {
    Ranking: attrgetter("ranking_id"),
    Contrast: attrgetter("event_id"),
    SkillDiff: attrgetter("event_id"),
    SlimSkill: attrgetter("user_id", "domain"),
    DeadLetter: attrgetter("event_id"),
}


class PipelineOutputs:
    """The outputs by kind and id, without duplicates."""

    def __init__(self, settings: Settings) -> None:
        self._scanner = Scanner(settings)
        self._models = {settings.topic(model.TOPIC): model for model in _ID_OF}
        self._next = {
            (each.topic, each.partition): each for model in _ID_OF for each in self._scanner.partitions(model.TOPIC)
        }
        self._found: dict[type[Event], dict[Any, Any]] = {model: {} for model in _ID_OF}

    def __getitem__(self, model: type[Event]) -> dict[Any, Any]:
        return self._found[model]

    def read(self) -> None:
        """Read all records that the broker has now."""
        for message in self._scanner.read([*self._next.values()]):
            topic, partition, value = str(message.topic()), int_of(message.partition()), message.value()
            self._next[topic, partition] = TopicPartition(topic, partition, int_of(message.offset()) + 1)
            if value is not None:
                record: Any = decode(self._models[topic], value)
                self._found[type(record)][_ID_OF[type(record)](record)] = record


@dataclass(frozen=True)
class DemoResult:
    """A run's figures, and the skills with first versions and slim forms."""

    figures: dict[str, Any]
    skills: dict[SkillKey, PolicySkill]
    firsts: dict[SkillKey, SkillDiff]
    slims: dict[SkillKey, SlimSkill]

    def is_in_duckdb(self, settings: Settings) -> bool:
        """Return True if DuckDB has the folded skills, byte for byte."""
        with read.connect(settings) as con:
            rows = con.execute("SELECT user_id, domain, document FROM skills").fetchall()
        folded = {key: encode(skill).decode() for key, skill in self.skills.items()}
        return {(user, domain): document for user, domain, document in rows} == folded


class Demo:
    """One run of a scenario against a local pipeline."""

    def __init__(self, scenario: Scenario, local: LocalPipeline, progress: Progress) -> None:
        self._scenario, self._local, self._progress = scenario, local, progress
        self._events, self._outputs = RecordWriter(local.settings), PipelineOutputs(local.settings)
        self._sent = Counter[str]()

    def run(self) -> DemoResult:
        """Send everything, and measure; raise `StreamsError` if the pipeline stops."""
        began = time.monotonic()
        for domain, item in self._scenario.catalogue():
            self._send(Item(**envelope(datetime.now(UTC)), domain=domain, item=item))
        for visit in self._scenario.past():
            self._send(visit)
        self._wait_for_worker("learning the past")
        before = self._measure("before")
        for turn, choices in enumerate(self._scenario.rounds(), 1):
            self._choose(choices, turn)
        self._wait_for_worker("learning from choices")
        after = self._measure("after")
        # The figures are about choices alone, so the statements come after them.
        n_selections, learned = self._sent[Selection.TOPIC], self._skills()
        self._send_statements(learned)
        outputs, skills = self._outputs, self._skills()
        firsts = {(diff.user_id, diff.domain): diff for diff in outputs[SkillDiff].values() if diff.version == 1}
        n_diffs = len(outputs[SkillDiff].keys() & outputs[Contrast].keys())
        found = self._scenario.wants_found
        figures = {
            **{f"hit_at_{top}_before": rate for top, rate in before.items()},
            **{f"hit_at_{top}_after": rate for top, rate in after.items()},
            "hidden_policy_found_before": found({key: first.seed or () for key, first in firsts.items()}),
            "hidden_policy_found_after": found({key: skill.attributes for key, skill in learned.items()}),
            "events_in": self._sent.total(),
            "selections": n_selections,
            "contrasts": len(outputs[Contrast]),
            "diffs": n_diffs,
            "versions_from_statements": len(outputs[SkillDiff]) - n_diffs,
            "dead_letters": len(outputs[DeadLetter]),
            "slim_skills": len(outputs[SlimSkill]),
            "slim_tokens_max": max((slim.tokens for slim in outputs[SlimSkill].values()), default=0),
            "seconds": round(time.monotonic() - began, 2),
            "log_is_verified": not verify(self._local.settings).found,
        }
        return DemoResult(figures, skills, firsts, outputs[SlimSkill])

    def _skills(self) -> dict[SkillKey, PolicySkill]:
        diffs = sorted(self._outputs[SkillDiff].values(), key=lambda diff: diff.version)
        return {(str(user), str(domain)): skill for (user, domain), skill in fold(diffs).items()}

    def _send(self, event: Event) -> None:
        self._events.send_event(event)
        self._sent[event.TOPIC] += 1

    def _wait_for_worker(
        self, stage: str, number: int = 1, total: int = 1, bases: Collection[str] = CONSUMED_TOPICS
    ) -> None:
        """Wait until the worker has processed these topics, and read its outputs."""
        self._progress(stage, number - 1, total)
        self._events.flush()
        seconds = CALLS * self._local.settings.llm_timeout_seconds
        if left := self._local.finish_work(seconds, per_record=True, bases=bases):
            raise StreamsError(f"the pipeline stalled: {left} records wait, without progress for {seconds:.0f} s")
        self._outputs.read()
        self._progress(stage, number, total)

    def _rank(self, wanted: Mapping[str, DemoChoice], *, clarify: bool = False) -> dict[str, Ranking]:
        """Return our rankings of these choices, by the keys given here."""
        for name, choice in wanted.items():
            whose = {"user_id": choice.user_id, "domain": choice.domain, "candidates": choice.candidates}
            self._send(RankRequest(**envelope(choice.at), request_id=name, clarify=clarify, **whose))
        self._wait_for_worker("ranking", bases=[RankRequest.TOPIC])
        return {name: self._outputs[Ranking][name] for name in wanted}

    def _measure(self, when: str) -> dict[int, float]:
        """Return the hit rates at 1, 3 and 5 on test choices."""
        # Without a selection, nothing is learned from them.
        wanted = {f"{when}-{choice.choice_id}": choice for choice in self._scenario.test_choices()}
        rankings = self._rank(wanted)
        places = [
            [item.item_id for item in rankings[name].candidates].index(choice.target) for name, choice in wanted.items()
        ]
        return {top: sum(place < top for place in places) / len(places) for top in (1, 3, 5)}

    def _choose(self, choices: Sequence[DemoChoice], turn: int) -> None:
        """Send one round of choices, in our ranker's or the app's order."""
        with_skill = {each.choice_id: each for each in choices if self._scenario.has_skill(each.user_id)}
        for choice in choices:
            if choice.choice_id not in with_skill:
                shown = {"ranking_id": choice.choice_id, "domain": choice.domain, "candidates": choice.candidates}
                self._send(Ranking(**envelope(choice.at), user_id=choice.user_id, **shown))
        self._rank(with_skill)
        for choice in choices:
            self._send(Selection(**_after(choice), ranking_id=choice.choice_id, item_id=choice.target))
        # As in an app, the next choice waits for no memories of items: these come in batches, some seconds later.
        self._wait_for_worker("choosing", turn, self._scenario.n_rounds, [Selection.TOPIC, Contrast.TOPIC])

    def _send_statements(self, skills: Mapping[SkillKey, PolicySkill]) -> None:
        """Send the users' statements, then last lists: declined, or their question answered."""
        for event in self._scenario.statements(skills):
            self._send(event)
        lists = {choice.choice_id: choice for choice in self._scenario.last_lists()}
        rankings = self._rank(lists, clarify=True)
        for place, (name, choice) in enumerate(lists.items()):
            fit = rankings[name].injected.fit
            if place % 2 == 0:
                self._send(Selection(**_after(choice), ranking_id=name, none_taken=True))
            elif fit is not None and fit.question is not None:
                question = fit.question
                answer = Directive(stance=Stance.PREFERS, dimension=question.dimension, value=question.options[0].value)
                about = {"domain": choice.domain, "ranking_id": name, "answers": question.question_id}
                self._send(Correction(**_after(choice), **about, directives=(answer,)))
        self._wait_for_worker("learning from statements")


def _after(choice: DemoChoice) -> dict[str, Any]:
    """Return envelope and user of an event one minute after."""
    return {**envelope(choice.at + timedelta(minutes=1)), "user_id": choice.user_id}
