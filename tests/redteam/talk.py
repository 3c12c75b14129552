"""Conversations played as a worker hears them: by rules, and by a model that answers whatever an attack wants."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from operators.cards.fold import fold_cards, redact_card_log
from operators.language.chunks import first_closed, without_chunk
from operators.language.extraction_llm import build_question, combine, parse_answer
from operators.language.ports import Extraction
from operators.steps.listen import ListenState, ListenStep, erasing_changes
from schemas import Fact, Position, Provenance, Speaker, Utterance
from schemas.cards import Card, CardDiff, Chunk, PendingConversations
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW

ANN = "ann"
LISTEN = ListenStep(extractor=RULES, privacy=PRIVACY)


@dataclass(frozen=True)
class Case:
    """A conversation that attacks.

    Attributes:
        id, language, technique: its name.
        turns: who says what.
        card: what the person has said before, each in a conversation of its own.
        never: what may not stand on the card, in its log or in a prompt.
        keeps: what has to be on the card all the same, by rules.
    """

    id: str
    language: str
    technique: str
    turns: tuple[tuple[Speaker, str], ...]
    card: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


def cases() -> Iterator[Case]:
    """All of the file."""
    for row in (Path(__file__).parent / "conversations.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(row)
        yield Case(
            id=told["id"],
            language=told["language"],
            technique=told["technique"],
            turns=tuple((Speaker(role), text) for role, text in told["turns"]),
            card=tuple(told.get("card", ())),
            never=tuple(told.get("never", ())),
            keeps=tuple(told.get("keeps", ())),
        )


class Talker:
    """A person who chats, and the worker that listens."""

    def __init__(self, *, obeys: Sequence[str] = ()) -> None:
        self.state = ListenState()
        self.log: list[CardDiff] = []
        self.outcomes: list[str] = []
        self._obeys = obeys
        self._offset = 0

    @property
    def card(self) -> Card | None:
        """What is known of them."""
        return self.state.card

    def says(
        self,
        text: str,
        *,
        role: Speaker = Speaker.USER,
        conversation: str = "c",
        turn: int = 0,
        ends: bool = False,
        event_id: str | None = None,
    ) -> None:
        """Hear a turn, and think over what is closed by it."""
        self._offset += 1
        utterance = Utterance(
            event_id=event_id or f"e{self._offset}",
            occurred_at=NOW + timedelta(seconds=self._offset),
            user_id=ANN,
            conversation_id=conversation,
            turn=turn,
            role=role,
            text=text,
            ends=ends,
        )
        source = Position(topic="utterances", partition=0, offset=self._offset, timestamp_ms=1_000 * self._offset)
        taken = LISTEN.add_turn(self.state, utterance, source)
        self.outcomes.append(taken.outcome.value)
        if taken.listening is not None:
            self._has(taken.listening)
        while (chunk := first_closed(self.state.listening)) is not None:
            self._thinks_over(chunk)

    def talks(self, turns: Sequence[tuple[Speaker, str]], conversation: str = "c") -> None:
        """A conversation with its end."""
        for place, (role, text) in enumerate(turns):
            self.says(text, role=role, conversation=conversation, turn=place)
        self.says("", conversation=conversation, turn=len(turns), ends=True)

    def _has(self, listening: PendingConversations) -> None:
        self.state = ListenState(listening, self.state.card)

    def _thinks_over(self, chunk: Chunk) -> None:
        found = RULES.extract(chunk.turns, self.card, _nothing)
        if self._obeys:
            found = combine(found, self._of_a_model(chunk))
        thought = LISTEN.finish(self.state, chunk, found, _nothing)
        listening = self.state.listening
        assert listening is not None
        if thought.diff is not None:
            self.log.append(thought.diff)
        for change in erasing_changes(thought.diff):
            self.log = redact_card_log(self.log, change.line_id)
        self.state = ListenState(without_chunk(listening, chunk), fold_cards(self.log).get(ANN))

    def _of_a_model(self, chunk: Chunk) -> Extraction:
        """The worst answer: every sentence in which an attack stands is a taste for it."""
        asked = build_question(chunk.turns, _nothing, max_tokens=20_000, extractor=RULES, gate=OUTPUT_GATE)
        if asked is None:
            return Extraction()
        answer = {
            key: "; ".join(f"likes: {value}" for value in self._obeys if value in sentence.text) or "nothing"
            for key, sentence in asked.sentences.items()
        }
        found, of_others = parse_answer(asked, answer, self.card, extractor=RULES, gate=OUTPUT_GATE)
        return Extraction(found, of_others, Provenance(reasoner="llm", model="fake"))


def played(case: Case, *, obeys: bool = False) -> Talker:
    """The case, after what was said before it."""
    talker = Talker(obeys=case.never if obeys else ())
    for place, text in enumerate(case.card):
        talker.talks([(Speaker.USER, text)], f"before-{place}")
    talker.talks(case.turns)
    return talker


def _nothing(_domain: str) -> Sequence[Fact]:
    return ()
