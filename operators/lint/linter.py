"""The linter: goes through a batch with the steps of the agents, and says what each event did."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from operators.contrast import Outcome as Joined
from operators.contrast import RingLimits, Step, slot_of
from operators.evolve import without_model
from operators.language.ports import CorrectionReader, Extractor
from operators.language.understood import About
from operators.lint.conversation import Conversations
from operators.lint.lesson import Lesson, listed, number, shown
from operators.lint.things import Things
from operators.options import EvolveMode
from operators.outcome import arm_of
from operators.steps import Evolve, Start, State
from operators.steps import contrast as joining
from operators.steps.prior import Prior
from operators.steps.prior import State as PriorState
from operators.understand import explanation, understand
from schemas import (
    Candidate,
    Contrast,
    Correction,
    Event,
    Feedback,
    Interaction,
    Item,
    OpenRankings,
    PolicySkill,
    Position,
    Profile,
    Ranking,
    RankRequest,
    Selection,
    Signal,
    Utterance,
    Wish,
)

_WISHES = {
    Wish.NOT_REMEMBERED: "the person asks us not to remember this: nothing is learned from it",
    Wish.FOR_ANOTHER: "the request is for somebody else: nothing is learned of this person from what is taken",
}
_DEAD = {
    Joined.NOT_IN_RANKING: "it names an item that its ranking did not show",
    Joined.ALREADY_ANSWERED: "its ranking has another answer already, and the first one stands",
    Joined.NO_RANKING: "too many selections of this person wait for rankings that have not come",
}


@dataclass
class Linter:
    """Goes through one batch; make a new one for the next.

    It begins with people of whom nothing is known. Events of a batch meet each other: a selection its ranking, what
    comes later the skill that began before.

    Attributes:
        step: how skills evolve in this deployment, without slim skills.
        parsers: by domain, the parser where it is not the domain's own.
        now: the time.
        reader: reads corrections.
        extractor: reads conversations.
        chars: how many characters of what people say and ask for are read, as reading them takes longer than all else;
            None for any number.
        limits: of the rings.
    """

    step: Evolve
    parsers: Mapping[str, str]
    now: datetime
    reader: CorrectionReader
    extractor: Extractor
    chars: int | None = None
    limits: RingLimits = field(default_factory=RingLimits)
    _rings: dict[tuple[str, int], OpenRankings] = field(default_factory=dict)
    _skills: dict[tuple[str, str], PolicySkill] = field(default_factory=dict)
    _profiles: dict[tuple[str, str], Profile] = field(default_factory=dict)
    _asked: set[tuple[str, str]] = field(default_factory=set)
    _offset: int = 0

    def __post_init__(self) -> None:
        self._things = Things(self.parsers, self.step.privacy)
        self._talk = Conversations(self.step.privacy, self.extractor, self._things.vocabulary)
        self._start = Start(self.step.limits, privacy=self.step.privacy)

    def lint(self, events: Sequence[Event | None]) -> list[Lesson]:
        """What each event will teach; an empty lesson where there is none.

        A selection may stand before its ranking, as in Kafka: it has its turn behind it.
        """
        lessons = [Lesson() for _ in events]
        shown_at: dict[tuple[str, str], int] = {}
        for at, event in enumerate(events):
            match event:
                case Ranking():
                    shown_at.setdefault((event.user_id, event.ranking_id), at)
                case RankRequest():
                    self._asked.add((event.user_id, event.request_id))
        turns = []
        for at, event in enumerate(events):
            is_answer = isinstance(event, Selection)
            after = shown_at.get((event.user_id, event.ranking_id), at) if isinstance(event, Selection) else at
            turns.append((max(at, after), is_answer, at))
        for *_, at in sorted(turns):
            if (event := events[at]) is not None:
                self._take(event, lessons[at])
        return lessons

    def _take(self, event: Event, lesson: Lesson) -> None:
        match event:
            case Item():
                lesson.teaches.append("an entry of the catalogue, for SQL: no skill learns from it")
                self._things.look(event.domain, [event.item], lesson)
            case Interaction():
                self._visit(event, lesson)
            case RankRequest():
                self._request(event, lesson)
            case Ranking():
                self._ranking(event, lesson)
            case Selection():
                self._selection(event, lesson)
            case Feedback():
                self._feedback(event, lesson)
            case Correction():
                self._correction(event, lesson)
            case Utterance() if self._reads(event.text, lesson):
                self._talk.hear(event, lesson)

    def _visit(self, visit: Interaction, lesson: Lesson) -> None:
        self._things.look(visit.domain, [visit.item], lesson)
        item = self._things.facts(visit.domain, visit.item)
        key, source = (visit.user_id, visit.domain), self._position(visit)
        effects = Prior().step(PriorState(self._profiles.get(key)), visit, item, source, self.now)
        self._profiles[key] = effects.profile or self._profiles[key]
        names = [f"{fact.dimension} {fact.value}" for fact in item.facts]
        if key in self._skills:
            done = self.step.visit(State(self._skills[key]), visit, item, source)
            self._skills[key] = done.skill
            lesson.learns("a visit, counted in a skill that has begun", done)
        elif names:
            lesson.teaches.append(f"a visit, counted in the history that a skill begins with: {listed(names)}")

    def _request(self, request: RankRequest, lesson: Lesson) -> None:
        lesson.teaches.append(
            "nothing by itself: it is answered by a ranking of the same id, and a selection that names that one teaches"
        )
        self._list(request.domain, request.candidates, request.instruction, lesson)

    def _ranking(self, ranking: Ranking, lesson: Lesson) -> None:
        self._list(ranking.domain, ranking.candidates, ranking.instruction, lesson)
        wish = self.step.privacy.wish(ranking.instruction)
        fit = ranking.model_copy(update={"instruction": ""})  # no lesson tells of it
        done = self._join(
            ranking,
            lambda state, source: joining.on_ranking(
                state, fit, lambda each: self._things.facts(ranking.domain, each), source, self.limits, wish
            ),
        )
        if done == Joined.REPEATED:
            lesson.warnings.append(
                "another ranking of this batch has the same user and ranking_id: this one is dropped"
            )
            return
        many = len(ranking.candidates)
        waits = "waits for the selection that names it"
        if many == 1:
            lesson.teaches.append(f"{waits}; with one item shown, taking it teaches a visit and no choice")
        else:
            lesson.teaches.append(f"{waits}, which teaches what was taken against {number(many - 1, 'other')}")
        lesson.teaches.append(f"counts for the arm {shown([arm_of(ranking.injected)])[0]} of the learning curve")

    def _reads(self, text: str, lesson: Lesson) -> bool:
        """Whether there is room to read a text."""
        if self.chars is None:
            return True
        self.chars -= len(text)
        if self.chars < 0:
            lesson.warnings.append("its words are not read, as the batch has too many: send fewer events at a time")
        return self.chars >= 0

    def _list(self, domain: str, candidates: Sequence[Candidate], instruction: str, lesson: Lesson) -> None:
        """What of a list and of the words that asked for it is worth a warning."""
        self._things.look(domain, candidates, lesson)
        if not instruction or not self._reads(instruction, lesson):
            return
        self._words("instruction", instruction, domain, lesson)
        if (wish := self.step.privacy.wish(instruction)) is not None:
            lesson.warnings.append(_WISHES[wish])

    def _words(self, name: str, text: str, domain: str, lesson: Lesson) -> None:
        found = self.step.privacy.redact(text, domain).found
        if found:
            kinds = ", ".join(sorted(found))
            lesson.warnings.append(f"the privacy filter takes this out of {name} before anything is kept: {kinds}")

    def _selection(self, selection: Selection, lesson: Lesson) -> None:
        done = self._join(selection, lambda state, source: joining.on_selection(state, selection, source, self.limits))
        outcome = done if isinstance(done, Joined) else done.outcome
        if outcome is Joined.WAITING:
            in_batch = (selection.user_id, selection.ranking_id) in self._asked
            where = "that answers the rank request in this batch" if in_batch else "that it names, which is not here"
            lesson.teaches.append(
                f"joins with the ranking {where}, if that one comes before {self.limits.waiting} other selections of "
                "this person wait beside it; then it teaches which of what was shown was taken"
            )
        elif outcome in _DEAD:
            lesson.warnings.append(f"becomes a dead letter ({outcome.value}): {_DEAD[outcome]}")
        elif outcome is Joined.REPEATED:
            lesson.warnings.append("repeats an earlier selection of this batch: it counts once")
        elif outcome is Joined.UNREADABLE:
            lesson.warnings.append("no item that was taken or shown can be read: this choice teaches nothing")
        elif outcome in (Joined.NOT_REMEMBERED, Joined.FOR_ANOTHER):
            lesson.warnings.append(_WISHES[Wish(outcome.value)])
        elif not isinstance(done, Joined) and done.contrast is not None:
            self._choice(done.contrast, lesson)
        elif not isinstance(done, Joined) and done.abstention is not None:
            state = self._state(done.abstention, done.abstention.domain)
            effects = self.step.abstain(state, done.abstention)
            self._skills[selection.user_id, done.abstention.domain] = effects.skill
            lesson.teaches.append(
                f"nothing of {number(len(done.abstention.shown), 'item')} was taken: the list did not suit, which is "
                "no word against any item of it"
            )

    def _choice(self, contrast: Contrast, lesson: Lesson) -> None:
        state = self._state(contrast, contrast.domain)
        begun = self.step.begin(state, contrast)
        if begun.contrast is None or begun.outcome is not None:
            lesson.warnings.append("nothing is learned from this choice: the skill is frozen or knows it already")
            return
        answer = without_model(EvolveMode.COUNTS).propose(begun.contrast, state.skill)
        effects = self.step.finish(state, begun.contrast, answer)
        self._skills[contrast.user_id, contrast.domain] = effects.skill
        taken = number(1 + len(contrast.also), "item")
        if not contrast.unchosen:
            what = f"a visit and no choice, as nothing was left ({taken} taken)"
        else:
            what = f"a choice ({taken} taken in place {contrast.chosen_rank}, {len(contrast.unchosen):,} left)"
        lesson.learns(what, effects)

    def _feedback(self, feedback: Feedback, lesson: Lesson) -> None:
        self._things.look(feedback.domain, [feedback.item], lesson)
        signals = self.step.signals
        if (worth := signals.worth(feedback)) is None:
            known = ", ".join(sorted(signals.weights))
            lesson.warnings.append(
                f"no weight is set for this signal, and it changes nothing: SAGER_SIGNALS sets one; known are {known}"
            )
            return
        if feedback.signal == Signal.RATED and feedback.scale is None:
            lesson.warnings.append("the rating comes without its scale and is read on one from 1 to 5: send scale")
        if feedback.value is not None and feedback.signal not in (Signal.RATED, Signal.DWELLED):
            lesson.warnings.append("value says something of the signals rated and dwelled only: here it is ignored")
        item = self._things.facts(feedback.domain, feedback.item)
        effects = self.step.hear(self._state(feedback, feedback.domain), feedback, item)
        self._skills[feedback.user_id, feedback.domain] = effects.skill
        lesson.learns(f"a signal that counts {worth:+.2f} of a choice", effects)

    def _correction(self, correction: Correction, lesson: Lesson) -> None:
        domain, privacy = correction.domain, self.step.privacy
        if not self._reads(correction.text, lesson):
            return
        if (wish := privacy.wish(correction.text)) is Wish.NOT_REMEMBERED:
            lesson.warnings.append(_WISHES[wish])
            return
        self._words("text", correction.text, domain, lesson)
        if correction.items:
            self._things.look(domain, correction.items, lesson)
        said = correction.model_copy(update={"text": privacy.redact(correction.text, domain).text})
        items = [self._things.facts(domain, each) for each in correction.items]
        state = self._state(correction, domain)
        read = understand(
            said,
            items,
            state.skill,
            self._things.vocabulary(domain),
            correction.text,
            reader=self.reader,
            privacy=privacy,
        )
        effects = self.step.correct(state, said, items, read)
        self._skills[correction.user_id, domain] = effects.skill
        if read.about is About.ANOTHER:
            lesson.warnings.append("tells of somebody else's taste: nothing is learned of this person")
        elif not read.is_understood:
            why = explanation(read, privacy.placeholders(said.text), domain)
            lesson.warnings.append(
                f"is not understood by rules, and changes nothing unless a model reads it: {why} Send the items that "
                "the person sees, or a form in `says`"
            )
        else:
            lesson.learns("said by the person", effects)

    def _state(self, event: Any, domain: str) -> State:
        """What the batch has made of a person in a domain so far."""
        key = (event.user_id, domain)
        if key not in self._skills:
            self._skills[key] = self._start.skill(event.user_id, domain, event, self._profiles.get(key))
        return State(self._skills[key])

    def _join(
        self, event: Ranking | Selection, act: Callable[[joining.State, Position], Step | Joined]
    ) -> Step | Joined:
        """Let a ranking or a selection meet the open business of its person, as the agent `contrast` does."""
        key = (event.user_id, slot_of(event.ranking_id))
        done = act(joining.State(self._rings.get(key)), self._position(event))
        if isinstance(done, Step):
            self._rings[key] = done.state
            return done if done.outcome is not Joined.REPEATED else Joined.REPEATED
        return done

    def _position(self, event: Event) -> Position:
        """A place of its own for each event: batches have none yet."""
        self._offset += 1
        stamp = int(self.now.timestamp() * 1_000)
        return Position(topic=event.TOPIC, partition=0, offset=self._offset, timestamp_ms=stamp)
