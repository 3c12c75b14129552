"""A dry run of events: the agents' steps on users without history."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from operators.cards.lines import describe, describe_rejection
from operators.cards.merge import merge_extraction as resolve_card
from operators.contrast import ContrastOutcome as Joined
from operators.contrast import join_ranking, join_selection, slot_of
from operators.evolve.proposals import without_model
from operators.language.corrections import understand
from operators.language.privacy import read_item
from operators.options import EvolveMode
from operators.stated import describe_statement as stated_in_words
from operators.statinit import parser_for, vocabulary_for
from operators.steps import EvolveState, EvolveStep, SkillStart
from operators.steps.evolve import EvolveEffects
from schemas import Correction, Event, Feedback, OpenRankings, OptOut, Position, Speaker, Turn, Utterance
from schemas.diffs import PolicySkill, SkillChangeKind
from schemas.events import Interaction, Ranking, RankRequest, Selection
from schemas.items import Candidate, Fact, Item, ItemFacts
from streams.language import RULES
from streams.settings import Settings
from streams.steps import evolve_of, limits_of

MAX_VOCABULARY = 512
_SHOWN = 5  # how many names a sentence lists
_SPEAKS_FOR = frozenset({SkillChangeKind.DISCOVERED, SkillChangeKind.REINFORCED})


@dataclass
class Lesson:
    """The effect of one event: the lines that it changes, and warnings."""

    teaches: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, cause: str, effects: EvolveEffects) -> None:
        """Add the lines of a skill that a step changed."""
        if (diff := effects.diff) is None:
            self.warnings.append(f"changes nothing: {effects.outcome.value}")
            return
        found: dict[str, list[str]] = {"speaks for": [], "speaks against": [], "the person": []}
        for change in diff.changes:
            if change.kind in _SPEAKS_FOR or change.kind is SkillChangeKind.WEAKENED:
                verb = "speaks for" if change.kind in _SPEAKS_FOR else "speaks against"
                found[verb].append(change.attribute_id.partition(":")[2].replace(":", " ", 1))
        for each in diff.stated:
            if each.statement is not None:
                found["the person"].append(f"{stated_in_words(each.statement)}, {each.statement.scope.value}")
        parts = [f"{verb} {_listed(names)}" for verb, names in found.items() if names]
        self.teaches.append(f"{cause}: {'; '.join(parts) or 'no line of a skill changes'}")


@dataclass
class DryRun:
    """The dry run of one batch.

    `step` evolves skills like this deployment, without a model. `chars` is the remaining budget of characters in users'
    words, which are slow to read.
    """

    step: EvolveStep
    parsers: Mapping[str, str]
    now: datetime
    chars: int
    _rings: dict[tuple[str, int], OpenRankings] = field(default_factory=dict)
    _skills: dict[tuple[str, str], PolicySkill] = field(default_factory=dict)
    _facts: dict[tuple[str, Fact], None] = field(default_factory=dict)
    _offset: int = 0

    def take(self, event: Event | None, lesson: Lesson) -> None:
        """Apply an event, and write its lesson."""
        match event:
            case Item():
                lesson.teaches.append("an entry of the catalogue: no skill learns from it")
                self._read(event.domain, [event.item], lesson)
            case Interaction():
                [item] = self._read(event.domain, [event.item], lesson)
                if item.facts:
                    names = _listed(f"{fact.dimension} {fact.value}" for fact in item.facts)
                    lesson.teaches.append(f"a visit, counted in the history that a skill begins with: {names}")
            case RankRequest():
                lesson.teaches.append("nothing by itself: skills learn from the selection")
                self._read(event.domain, event.candidates, lesson)
                self._words(event.instruction, event.domain, lesson)
            case Ranking():
                self._ranking(event, lesson)
            case Selection():
                self._selection(event, lesson)
            case Feedback():
                self._feedback(event, lesson)
            case Correction():
                self._correction(event, lesson)
            case Utterance():
                self._utterance(event, lesson)

    def _read(self, domain: str, candidates: Sequence[Candidate], lesson: Lesson) -> list[ItemFacts]:
        """Read items like the worker, and warn of unusable or private ones."""
        items: list[ItemFacts] = []
        silent = private = 0
        parser = parser_for(domain, self.parsers)
        for candidate in candidates:
            read = read_item(candidate, domain, parser, self.step.privacy)
            if read.failure:
                lesson.warnings.append(f"an item cannot be read ({read.failure}): it teaches nothing")
            else:
                silent += not read.facts.facts and not read.facts.measures
                private += sum(read.found.values())
            items.append(read.facts)
            for fact in read.facts.facts:
                if len(self._facts) < MAX_VOCABULARY:
                    self._facts[domain, fact] = None
        if silent:
            name = parser.__module__.rpartition(".")[2]
            lesson.warnings.append(f"{silent} of {len(items)} items have no metadata that the parser {name} reads")
        if private:
            lesson.warnings.append(f"the privacy filter removes {private} private details of items")
        return items

    def _words(self, text: str, domain: str, lesson: Lesson) -> bool:
        """Warn of private details; return False if there are too many words."""
        self.chars -= len(text)
        if self.chars < 0:
            lesson.warnings.append("its words are not read: send fewer events at a time")
            return False
        if found := self.step.privacy.redact(text, domain).found:
            lesson.warnings.append(f"the privacy filter removes from its words: {', '.join(sorted(found))}")
        if (wish := self.step.privacy.opt_out(text)) is not None:
            lesson.warnings.append(f"the words ask that nothing is learned: {wish.value}")
        return True

    def _vocabulary(self, domain: str) -> tuple[Fact, ...]:
        met = (fact for of, fact in self._facts if of == domain)
        return tuple(dict.fromkeys((*met, *vocabulary_for(domain, self.parsers))))

    def _ranking(self, event: Ranking, lesson: Lesson) -> None:
        read = self._read(event.domain, event.candidates, lesson)
        items = {each.item_id: facts for each, facts in zip(event.candidates, read, strict=True)}
        self._words(event.instruction, event.domain, lesson)
        key = (event.user_id, slot_of(event.ranking_id))
        wish = self.step.privacy.opt_out(event.instruction)
        done = join_ranking(
            self._rings.get(key), event, lambda each: items[each.item_id], self._position(event), wish=wish
        )
        if done.outcome is not Joined.REPEATED:
            self._rings[key] = done.state
            lesson.teaches.append("waits for the selection that names it")
        else:
            lesson.warnings.append("repeats a ranking of this batch: it is dropped")

    def _selection(self, event: Selection, lesson: Lesson) -> None:
        key = (event.user_id, slot_of(event.ranking_id))
        done = join_selection(self._rings.get(key), event, self._position(event))
        if not done.is_new:
            lesson.warnings.append(f"teaches nothing: {done.outcome.value}")
            return
        self._rings[key] = done.state
        if (contrast := done.contrast) is not None:
            state = self._state(contrast, contrast.domain)
            begun = self.step.prepare(state, contrast)
            if begun.contrast is None or begun.outcome is not None:
                lesson.warnings.append("teaches nothing: the skill is frozen or knows this choice")
                return
            proposal = without_model(EvolveMode.COUNTS).propose(begun.contrast, state.skill)
            cause = f"a choice ({1 + len(contrast.also)} taken, {len(contrast.unchosen)} left)"
            self._apply(contrast, self.step.finish(state, begun.contrast, proposal), cause, lesson)
        elif (abstention := done.abstention) is not None:
            effects = self.step.abstain(self._state(abstention, abstention.domain), abstention)
            self._apply(abstention, effects, "the list did not suit", lesson)
        elif done.outcome is Joined.WAITING:
            lesson.teaches.append("waits for the ranking that it names")
        else:
            fate = "becomes a dead letter" if done.outcome.refused else "teaches nothing"
            lesson.warnings.append(f"{fate}: {done.outcome.value}")

    def _feedback(self, event: Feedback, lesson: Lesson) -> None:
        [item] = self._read(event.domain, [event.item], lesson)
        if self.step.signals.weight_of(event) is None:
            known = ", ".join(sorted(self.step.signals.weights))
            lesson.warnings.append(f"SAGER_SIGNALS sets no weight for this signal; known are {known}")
            return
        self._apply(event, self.step.apply_signal(self._state(event, event.domain), event, item), "a signal", lesson)

    def _correction(self, event: Correction, lesson: Lesson) -> None:
        items, domain, privacy = self._read(event.domain, event.items, lesson), event.domain, self.step.privacy
        if not self._words(event.text, domain, lesson) or privacy.opt_out(event.text) is OptOut.NOT_REMEMBERED:
            return
        said = event.model_copy(update={"text": privacy.redact(event.text, domain).text})
        state, vocabulary = self._state(event, domain), self._vocabulary(domain)
        read = understand(said, items, state.skill, vocabulary, event.text, reader=RULES, privacy=privacy)
        if read.is_understood:
            self._apply(event, self.step.correct(state, said, items, read), "the correction", lesson)
        else:
            why = "" if read.why is None else f" ({read.why.value})"
            lesson.warnings.append(f"is not understood by rules{why}, and changes nothing unless a model reads it")

    def _utterance(self, event: Utterance, lesson: Lesson) -> None:
        if not self._words(event.text, event.domain or "", lesson):
            return
        if event.role is not Speaker.USER:
            lesson.teaches.append("context of the person's answer: nothing is learned from it")
            return
        text = self.step.privacy.turn(event.text, event.domain, "").text
        known = event.model_dump(include={"event_id", "turn", "role", "domain", "language"})
        heard = RULES.extract([Turn(**known, text=text, stated_at=event.occurred_at)], None, self._vocabulary)
        about = (event.user_id, heard, event.event_id, event.occurred_at, event.conversation_id)
        diff = resolve_card(None, *about, None, self.step.privacy)
        if diff is None:
            lesson.teaches.append("no lasting preference by rules")
            return
        for change in diff.changes:
            line = "a line of the card" if change.line is None else describe(change.line)
            lesson.teaches.append(f"{change.kind.value}: {line}")
        lesson.warnings += [f"is not kept: {describe_rejection(each.kind)}" for each in diff.not_kept]

    def _state(self, event: Any, domain: str) -> EvolveState:
        key = (event.user_id, domain)
        if key not in self._skills:
            self._skills[key] = SkillStart(self.step.limits, privacy=self.step.privacy).skill(*key, event, None)
        return EvolveState(self._skills[key])

    def _apply(self, event: Any, effects: EvolveEffects, cause: str, lesson: Lesson) -> None:
        self._skills[event.user_id, event.domain] = effects.skill
        lesson.add(cause, effects)

    def _position(self, event: Event) -> Position:
        self._offset += 1
        stamp = int(self.now.timestamp() * 1_000)
        return Position(topic=event.TOPIC, partition=0, offset=self._offset, timestamp_ms=stamp)


def lessons(
    settings: Settings, now: datetime, chars: int, events: Sequence[Event | None], records: Sequence[Any]
) -> list[Lesson]:
    """Return the lesson of each event; `records` are the events' JSON."""
    run = DryRun(evolve_of(settings, limits_of(settings)), settings.parsers, now, chars)
    found = [Lesson() for _ in events]
    shown = {(each.user_id, each.ranking_id): at for at, each in enumerate(events) if isinstance(each, Ranking)}

    def turn(at: int) -> tuple[int, bool, int]:
        event = events[at]
        if not isinstance(event, Selection):
            return at, False, at
        return max(at, shown.get((event.user_id, event.ranking_id), at)), True, at

    for at in sorted(range(len(events)), key=turn):
        run.take(events[at], found[at])
    for event, record, lesson in zip(events, records, found, strict=True):
        if event is not None and (unknown := _unknown(event, record)):
            lesson.warnings.append(f"fields outside the contract are dropped: {_listed(unknown)}")
    return found


def _unknown(event: Event, record: Mapping[str, Any]) -> list[str]:
    known = type(event).model_fields
    found = set(record.keys() - known.keys())
    lists = (record.get(name) or () for name in ("candidates", "items") if name in known)
    for item in (record.get("item"), *(each for items in lists for each in items)):
        if isinstance(item, dict):
            found |= item.keys() - Candidate.model_fields.keys()
    # An app chose the names: they must not control a terminal.
    return ["".join(c if c.isprintable() else "\ufffd" for c in str(name)[:60]) for name in sorted(found)]


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
