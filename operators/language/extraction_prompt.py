"""The question to a model about a chunk of a conversation: numbered sentences of the person.

The model answers with a few words for each sentence, so it can quote nothing but them. The question leaves out
questions, orders, sentences about others, and those with private details.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Final

import orjson

from operators.asks import CORRECTION_TOKENS, strict_object
from operators.language.ports import Extractor, OwnSentence, Speaks
from operators.language.quoting import content, is_meant
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from operators.vouch import Vouching
from operators.words import words
from schemas import Fact
from schemas.cards import Strength, Turn
from schemas.utterances import Role

PROMPT: Final = "listen.v2"
MAX_PROMPT_TOKENS: Final = 3_000
"""Of a chunk's question: a chunk has a thousand tokens of its own."""
MAX_ASKED: Final = 40
"""Sentences in one question; of more, the newest."""
MAX_FOUND: Final = 8
MAX_VALUE_CHARS: Final = 100
MAX_VOCABULARY: Final = 40
MIN_WORDS: Final = 2
"""Whoever says less than that tells nothing that needs a model."""
NOTHING: Final = "nothing"
LIKES, DISLIKES = "likes", "dislikes"
SEEMS_TO_LIKE, SEEMS_TO_DISLIKE = "seems to like", "seems to dislike"
NOW_LIKES, NO_LONGER_LIKES, FORGET, OTHER = "now likes", "no longer likes", "forget", "other"
_ASSISTANT_CHARS: Final = 160
_LONGEST_TURN_CHARS: Final = 6_000
_PIECE_CHARS: Final = 200
_FACT_CHARS: Final = 72
_MAX_VERDICT_CHARS: Final = 24

Vocabulary = Callable[[str], Sequence[Fact]]


@dataclass(frozen=True)
class Asked:
    """A sentence of the person that is asked about, or a part of a long one."""

    turn: Turn
    words: str
    strength: Strength


@dataclass(frozen=True)
class Question:
    """A question to the model, with the meaning of its answer's keys.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer must fit.
        asked: the sentences, by the keys of the answer.
        facts: what of the vocabulary it was shown, by domain.
        of_others: sentences that rules know to tell of others; nobody is asked about them.
    """

    prompt: str
    schema: Mapping[str, Any]
    asked: Mapping[str, Asked]
    facts: Mapping[str, Sequence[Fact]]
    of_others: int

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit: most sentences tell nothing."""
        told = f"{SEEMS_TO_DISLIKE}: {'conversation words ' * MAX_VALUE_CHARS}"[: _MAX_VERDICT_CHARS + MAX_VALUE_CHARS]
        return orjson.dumps(
            {key: told if place < MAX_FOUND else NOTHING for place, key in enumerate(self.asked)}
        ).decode()


@dataclass(frozen=True)
class _Line:
    """A line of the conversation as the prompt shows it; with what is asked about, if anything."""

    text: str
    asked: Asked | None = None


def question(
    turns: Sequence[Turn],
    vocabulary: Vocabulary,
    *,
    max_tokens: int,
    vouching: Vouching,
    extractor: Extractor,
) -> Question | None:
    """The question that a chunk puts, or None if the person says nothing in it that could tell of them."""
    lines, of_others = _lines(turns, extractor)
    text = " ".join(line.asked.words for line in lines if line.asked is not None)
    if len(text.split()) < MIN_WORDS:
        return None
    facts = {domain: _named(vocabulary(domain), text, vouching) for domain in _domains(turns)}
    while lines:
        asked = {str(number): each for number, each in enumerate((each.asked for each in lines if each.asked), 1)}
        prompt = template(PROMPT).substitute(vocabulary=_shown(facts), conversation="\n".join(_numbered(lines)))
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return Question(prompt, _schema(asked), asked, facts, of_others)
        # What is only there to understand the person by goes first, then half of the vocabulary, then what is oldest.
        if any(line.asked is None for line in lines):
            lines = [line for line in lines if line.asked is not None]
        elif any(len(named) > 1 for named in facts.values()):
            facts = {domain: named[: len(named) // 2] for domain, named in facts.items()}
        else:
            lines = lines[(len(lines) + 1) // 2 :]
    return None


def _lines(turns: Sequence[Turn], extractor: Extractor) -> tuple[list[_Line], int]:
    """The conversation up to the last sentence that is asked about, and how many tell of others."""
    newest: list[_Line] = []
    asked = of_others = 0
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if asked == MAX_ASKED:
            break
        if turn.role is Role.ASSISTANT:
            newest.append(_Line(_of_assistant(turn)))
        for line, is_of_others in _said(turn, turns[:place], extractor):
            newest.append(line)
            of_others += is_of_others
            asked += line.asked is not None
            if asked == MAX_ASKED:
                break
    said = list(dropwhile(lambda line: line.asked is None, newest))
    return said[::-1], of_others


def _said(turn: Turn, before: Sequence[Turn], extractor: Extractor) -> Iterator[tuple[_Line, bool]]:
    """The person's own sentences in a turn, the last first, and whether they tell of others."""
    for sentence in reversed(extractor.sentences(turn, before, _LONGEST_TURN_CHARS)):
        yield _line(turn, sentence)


def _line(turn: Turn, sentence: OwnSentence) -> tuple[_Line, bool]:
    shown = as_data(sentence.text, _PIECE_CHARS)
    if not content(sentence.text) or sentence.speaks is not Speaks.FOR_THEM:
        return _Line(f"person: {shown}"), sentence.speaks is Speaks.OF_OTHERS
    return _Line(shown, Asked(turn, sentence.text, sentence.strength)), False


def _of_assistant(turn: Turn) -> str:
    # People answer to what stands last.
    text = turn.text[-2 * _ASSISTANT_CHARS :]
    said = as_data(text, 2 * _ASSISTANT_CHARS)
    is_whole = text == turn.text and len(said) <= _ASSISTANT_CHARS
    return f"assistant: {said}" if is_whole else f"assistant: … {said[-_ASSISTANT_CHARS:].partition(' ')[2]}"


def _numbered(lines: Iterable[_Line]) -> Iterator[str]:
    number = 0
    for line in lines:
        number += line.asked is not None
        yield line.text if line.asked is None else f"{number}. {line.text}"


def _shown(facts: Mapping[str, Sequence[Fact]]) -> str:
    every = tuple(dict.fromkeys(fact for named in facts.values() for fact in named))[:MAX_VOCABULARY]
    if not every:
        return ""
    listed = (as_data(f"{fact.dimension}: {fact.value}", _FACT_CHARS) for fact in every)
    return "\n".join(("<vocabulary>", *(f"- {line}" for line in listed), "</vocabulary>"))


def _named(vocabulary: Sequence[Fact], text: str, vouching: Vouching) -> list[Fact]:
    """What of a vocabulary the person has a word of: nothing else could be found in what they say."""
    spoken = [fact for fact in vocabulary if words(fact.value) and is_meant(fact.value, text)]
    vouched = [fact for fact in spoken if vouching.held(fact.dimension, fact.value) is None]
    return sorted(dict.fromkeys(vouched), key=lambda fact: not words(fact.value) <= words(text))[:MAX_VOCABULARY]


def _domains(turns: Sequence[Turn]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(turn.domain for turn in turns if turn.role is Role.USER and turn.domain))


def _schema(asked: Iterable[str]) -> dict[str, Any]:
    told = {"type": "string", "maxLength": _MAX_VERDICT_CHARS + MAX_VALUE_CHARS}
    return strict_object(dict.fromkeys(asked, told))
