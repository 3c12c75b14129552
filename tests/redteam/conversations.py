"""A user whose conversations run through the listen step, with the rules or with an obedient model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from operators.cards.fold import fold_cards, redact_card_log
from operators.language.chunks import first_closed, replace_chunk
from operators.language.extraction_llm import build_question, combine, parse_answer
from operators.language.ports import Extraction
from operators.steps.listen import ListenState, ListenStep, erasing_changes
from schemas import Card, CardDiff, Chunk, Fact, Position, Provenance, Speaker, Utterance
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW

LISTEN = ListenStep(extractor=RULES, privacy=PRIVACY)


@dataclass(frozen=True)
class Conversation:
    """A hostile conversation.

    Attributes:
        turns: roles and texts.
        card: earlier statements, each in its own conversation.
        never: text that must not be on the card, in its log or in a prompt.
        keeps: values that the rules still put on the card.
    """

    id: str
    language: str
    technique: str
    turns: tuple[tuple[Speaker, str], ...]
    card: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


def read_conversations() -> Iterator[Conversation]:
    for row in (Path(__file__).parent / "conversations.jsonl").read_text(encoding="utf-8").splitlines():
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(row).items()}
        yield Conversation(**fields | {"turns": tuple((Speaker(role), text) for role, text in fields["turns"])})


class TalkingUser:
    """A user who chats, and the worker's steps that learn from it.

    Args:
        attacks: texts for which the model claims a preference wherever it sees them; without any, only rules extract.
    """

    def __init__(self, attacks: Sequence[str] = ()) -> None:
        self.state = ListenState()
        self.log: list[CardDiff] = []
        self.outcomes: list[str] = []
        self._attacks = attacks
        self._offset = 0

    @property
    def card(self) -> Card | None:
        return self.state.card

    def say(self, text: str, *, conversation: str = "c", turn: int = 0, **fields: Any) -> None:
        """Send a turn, and extract preferences from the chunks that it closes."""
        self._offset += 1
        defaults = {"event_id": f"e{self._offset}", "occurred_at": NOW + timedelta(seconds=self._offset)}
        ids = {"user_id": "ann", "conversation_id": conversation}
        utterance = Utterance(**defaults | ids | {"turn": turn, "text": text} | fields)
        source = Position(topic="utterances", partition=0, offset=self._offset, timestamp_ms=1_000 * self._offset)
        effects = LISTEN.add_turn(self.state, utterance, source)
        self.outcomes.append(effects.outcome.value)
        if effects.listening is not None:
            self.state = ListenState(effects.listening, self.card)
        while (chunk := first_closed(self.state.listening)) is not None:
            self._finish(chunk)

    def converse(self, turns: Sequence[tuple[Speaker, str]], conversation: str = "c") -> None:
        """Send the turns of a conversation, and end it."""
        for place, (role, text) in enumerate(turns):
            self.say(text, role=role, conversation=conversation, turn=place)
        self.say("", conversation=conversation, turn=len(turns), ends=True)

    def _finish(self, chunk: Chunk) -> None:
        found = RULES.extract(chunk.turns, self.card, _no_vocabulary)
        if self._attacks:
            found = combine(found, self._extract_by_model(chunk))
        effects = LISTEN.finish(self.state, chunk, found, _no_vocabulary)
        if effects.diff is not None:
            self.log.append(effects.diff)
        for change in erasing_changes(effects.diff):
            self.log = redact_card_log(self.log, change.line_id)
        assert self.state.listening is not None
        self.state = ListenState(replace_chunk(self.state.listening, chunk), fold_cards(self.log).get("ann"))

    def _extract_by_model(self, chunk: Chunk) -> Extraction:
        """Give the worst answer: a preference for each attack, in every sentence that has it."""
        question = build_question(chunk.turns, _no_vocabulary, max_tokens=20_000, extractor=RULES, gate=OUTPUT_GATE)
        if question is None:
            return Extraction()
        answer = {
            key: "; ".join(f"likes: {attack}" for attack in self._attacks if attack in sentence.text) or "nothing"
            for key, sentence in question.sentences.items()
        }
        found, of_others = parse_answer(question, answer, self.card, extractor=RULES, gate=OUTPUT_GATE)
        return Extraction(found, of_others, Provenance(reasoner="llm", model="fake"))


def run_conversation(conversation: Conversation, *, obedient: bool = False) -> TalkingUser:
    user = TalkingUser(conversation.never if obedient else ())
    for place, text in enumerate(conversation.card):
        user.converse([(Speaker.USER, text)], f"before-{place}")
    user.converse(conversation.turns)
    return user


def _no_vocabulary(_domain: str) -> Sequence[Fact]:
    return ()
