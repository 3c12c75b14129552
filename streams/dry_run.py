"""A dry run of events: the worker's steps on users without history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from operators.cards.lines import describe, describe_rejection
from operators.contrast import ContrastEffects, ContrastOutcome, join_ranking, join_selection
from operators.evolve.proposals import without_model
from operators.language.corrections import understand
from operators.language.privacy import read_item
from operators.learning.fold import initial_skill
from operators.stated import describe_statement
from operators.statinit import parser_for, vocabulary_for
from operators.steps.evolve import EvolveEffects, EvolveState, EvolveStep
from operators.steps.listen import ListenState, ListenStep
from schemas import Candidate, Event, Item, ItemFacts, OpenRankings, OptOut, PolicySkill, Position
from schemas.events import Feedback, Interaction, Ranking, RankRequest, Selection
from schemas.statements import Correction, Utterance
from streams.language import RULES
from streams.settings import Settings
from streams.steps import evolve_of, limits_of
from streams.views.phrases import change_line

MAX_CHARS = 10_000  # words of people that a batch may have: a second's work at worst


@dataclass
class Lesson:
    """The lines that an event changes, and warnings."""

    teaches: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def lessons(settings: Settings, events: Sequence[Event | None], records: Sequence[Mapping[str, Any]]) -> list[Lesson]:
    """Return the lesson of each event; `records` are the events' JSON."""
    run, found = _DryRun(settings), [Lesson() for _ in events]
    # Items come first and selections last, so that each list finds its items and its answer wherever they are.
    places: dict[type, int] = {Item: 0, Selection: 2}
    for number in sorted(range(len(events)), key=lambda number: places.get(type(events[number]), 1)):
        if (event := events[number]) is not None:
            run.apply(event, number, found[number])
            if unknown := _unknown_fields(event, records[number]):
                found[number].warnings.append(f"fields outside the contract are dropped: {', '.join(unknown)}")
    return found


class _DryRun:
    """The skills and open rankings of one batch. Evolves without a model."""

    def __init__(self, settings: Settings) -> None:
        self._step: EvolveStep = evolve_of(settings, limits_of(settings))
        self._privacy, self._parsers, self._numbers = self._step.privacy, settings.parsers, settings.numbers
        self._vocabulary = partial(vocabulary_for, overrides=settings.parsers)
        self._rings: dict[tuple[str, str], OpenRankings] = {}
        self._skills: dict[tuple[str, str], PolicySkill] = {}
        self._catalogue: dict[tuple[str, str], Candidate] = {}
        self._chars = MAX_CHARS

    def apply(self, event: Event, number: int, lesson: Lesson) -> None:
        """Apply the batch's event of this number."""
        at = Position(topic=event.TOPIC, partition=0, offset=number, timestamp_ms=0)
        items = self._read_items(event, lesson)
        if not self._read_words(event, lesson):
            return
        match event:
            case Item(domain=domain, item=item):
                self._catalogue[domain, item.item_id] = item
                lesson.teaches.append("nothing by itself: lists may name it by its id alone")
            case RankRequest():
                lesson.teaches.append("nothing by itself: skills learn from choices")
            case Interaction():
                facts = ", ".join(f"{fact.dimension} {fact.value}" for fact in items[0].facts)
                lesson.teaches.append(f"a visit, counted in the history that a skill begins with: {facts}")
            case Ranking():
                facts_of = {item.item_id: item for item in items}
                wish = self._privacy.opt_out(event.instruction)
                ring = self._rings.get((event.user_id, event.ranking_id))
                self._join(event, join_ranking(ring, event, lambda each: facts_of[each.item_id], at, wish=wish), lesson)
            case Selection():
                ring = self._rings.get((event.user_id, event.ranking_id))
                self._join(event, join_selection(ring, event, at), lesson)
            case Feedback():
                self._learn(event, self._step.apply_signal(self._state(event), event, items[0]), lesson)
            case Correction() if self._privacy.opt_out(event.text) is not OptOut.NOT_REMEMBERED:
                state, text = self._state(event), self._privacy.redact(event.text, event.domain).text
                known, redacted = self._vocabulary(event.domain), event.model_copy(update={"text": text})
                rules: Any = {"reader": RULES, "privacy": self._privacy}
                understood = understand(redacted, items, state.skill, known, event.text, **rules)
                self._learn(event, self._step.correct(state, redacted, items, understood), lesson)
            case Utterance():
                self._listen(event, at, lesson)

    def _read_items(self, event: Any, lesson: Lesson) -> list[ItemFacts]:
        """Read an event's items, and warn of silent or private ones."""
        one = getattr(event, "item", None)
        listed = getattr(event, "candidates", ()) or getattr(event, "items", ())
        if not (one or listed):
            return []
        known = [self._catalogue.get((event.domain, e.item_id), e) if e.is_id_alone else e for e in listed]
        candidates = (one,) if one else known
        if alone := sum(each.is_id_alone for each in known):
            lesson.warnings.append(f"{alone} of {len(known)} items are ids alone: the topic items must have them")
        parser = parser_for(event.domain, self._parsers)
        numbers = self._numbers.get(event.domain, {})
        read = [read_item(candidate, event.domain, parser, self._privacy, numbers) for candidate in candidates]
        if silent := sum(not (each.facts.facts or each.facts.measures) for each in read) - alone:
            name = parser.__module__.rpartition(".")[2]
            lesson.warnings.append(f"{silent} of {len(read)} items have no metadata that the parser {name} reads")
        if private := sum(sum(each.found.values()) for each in read):
            lesson.warnings.append(f"the privacy filter removes {private} private details of items")
        return [each.facts for each in read]

    def _read_words(self, event: Any, lesson: Lesson) -> bool:
        """Warn of private details; return False for too many words."""
        text = getattr(event, "instruction", "") or getattr(event, "text", "")
        self._chars -= len(text)
        if self._chars < 0:
            lesson.warnings.append("its words are not read: send fewer events at a time")
            return False
        if found := self._privacy.redact(text, getattr(event, "domain", None) or "").found:
            lesson.warnings.append(f"the privacy filter removes from its words: {', '.join(sorted(found))}")
        if (wish := self._privacy.opt_out(text)) is not None:
            lesson.warnings.append(f"the words ask that nothing is learned: {wish}")
        return True

    def _join(self, event: Ranking | Selection, done: ContrastEffects, lesson: Lesson) -> None:
        self._rings[event.user_id, event.ranking_id] = done.state
        if (contrast := done.contrast) is not None:
            state = self._state(contrast)
            prepared = self._step.prepare(state, contrast)
            if prepared.contrast is None or prepared.outcome is not None:
                lesson.warnings.append(f"changes nothing: {prepared.outcome}")
                return
            proposal = without_model(self._step.mode).propose(prepared.contrast, state.skill)
            self._learn(contrast, self._step.finish(state, prepared.contrast, proposal), lesson)
        elif done.abstention is not None:
            self._learn(done.abstention, self._step.abstain(self._state(done.abstention), done.abstention), lesson)
        elif done.outcome in (ContrastOutcome.OPENED, ContrastOutcome.WAITING):
            lesson.teaches.append(f"waits for its {'selection' if isinstance(event, Ranking) else 'ranking'}")
        else:
            fate = "becomes a dead letter" if done.outcome.refused else "changes nothing"
            lesson.warnings.append(f"{fate}: {done.outcome}")

    def _listen(self, event: Utterance, at: Position, lesson: Lesson) -> None:
        """List the lines that a turn alone adds to a new card."""
        listen = ListenStep(privacy=self._privacy, extractor=RULES)
        pending = listen.add_turn(ListenState(), event, at).listening
        for chunk in pending.chunks if pending else ():
            extraction = RULES.extract(chunk.turns, None, self._vocabulary)
            diff = listen.finish(ListenState(pending), chunk, extraction, self._vocabulary).diff
            if diff is not None:
                lines = [(change.kind, describe(change.line)) for change in diff.changes if change.line is not None]
                lesson.teaches += [f"{kind}: {line}" for kind, line in lines]
                lesson.warnings += [f"is not kept: {describe_rejection(each.kind)}" for each in diff.not_kept]
        if not lesson.teaches:
            lesson.teaches.append("no lasting preference by rules")

    def _learn(self, event: Any, effects: EvolveEffects, lesson: Lesson) -> None:
        """Keep the new skill, and list its changes."""
        known = self._state(event).skill.hypotheses
        self._skills[event.user_id, event.domain] = effects.skill
        if (diff := effects.diff) is None:
            lesson.warnings.append(f"changes nothing: {effects.outcome}")
            return
        lesson.teaches += map(change_line, diff.changes)
        new = [name for name in effects.skill.hypotheses if name not in known]
        lesson.teaches += [f"counts {name}: a line once choices prove it" for name in new]
        lesson.teaches += [describe_statement(each.statement) for each in diff.stated if each.statement is not None]
        if diff.trigger is not None and not diff.trigger.understood:
            lesson.warnings.append(f"is not understood by rules: {diff.trigger.explanation}")
        elif not lesson.teaches:
            lesson.teaches.append("no line of a skill changes")

    def _state(self, event: Any) -> EvolveState:
        name = event.user_id, event.domain
        return EvolveState(self._skills.get(name) or initial_skill(*name, (), event))


def _unknown_fields(event: Event, record: Mapping[str, Any]) -> list[str]:
    """Return the names in a record that its schema lacks."""
    known = type(event).model_fields
    found = {*record} - {*known}
    for name in known.keys() & {"item", "items", "candidates"}:
        for item in [record[name]] if name == "item" else record.get(name) or ():
            found |= {*item} - {*Candidate.model_fields}
    # An app chose the names: they must not control a terminal.
    return [ascii(name[:60]) for name in sorted(found)]
