"""The question to a model about a chunk of a conversation: numbered sentences of the person.

The model answers with a few words for each sentence. Questions, orders, sentences about others, and sentences with
private details are left out.
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
from schemas import Fact, Role
from schemas.cards import Strength, Turn

PROMPT: Final = "listen.v2"
MAX_PROMPT_TOKENS: Final = 3_000
MAX_ASKED: Final = 40
"""Sentences in one question: the newest."""
MAX_FOUND: Final = 8
MAX_VALUE_CHARS: Final = 100
MAX_VOCABULARY: Final = 40
MIN_WORDS: Final = 2
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
    """A question to the model: `asked` by the keys of its answer, `facts` of the vocabulary by domain.

    `of_others` counts the sentences that rules leave out because they are about others.
    """

    prompt: str
    schema: Mapping[str, Any]
    asked: Mapping[str, Asked]
    facts: Mapping[str, Sequence[Fact]]
    of_others: int

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        told = f"{SEEMS_TO_DISLIKE}: {'conversation words ' * MAX_VALUE_CHARS}"[: _MAX_VERDICT_CHARS + MAX_VALUE_CHARS]
        return orjson.dumps(
            {key: told if place < MAX_FOUND else NOTHING for place, key in enumerate(self.asked)}
        ).decode()


@dataclass(frozen=True)
class _Line:
    """A line of the conversation in the prompt."""

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
    """Return the question about a chunk; None if the person says nothing of themselves in it."""
    lines, of_others = _lines(turns, extractor)
    text = " ".join(line.asked.words for line in lines if line.asked is not None)
    if len(text.split()) < MIN_WORDS:
        return None
    domains = dict.fromkeys(turn.domain for turn in turns if turn.role is Role.USER and turn.domain)
    facts: dict[str, list[Fact]] = {domain: _named(vocabulary(domain), text, vouching) for domain in domains}
    while lines:
        asked = {str(number): each for number, each in enumerate((each.asked for each in lines if each.asked), 1)}
        prompt = template(PROMPT).substitute(vocabulary=_shown(facts), conversation="\n".join(_numbered(lines)))
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return Question(prompt, _schema(asked), asked, facts, of_others)
        # The context goes first, then half of the vocabulary, then the oldest sentences.
        if any(line.asked is None for line in lines):
            lines = [line for line in lines if line.asked is not None]
        elif any(len(named) > 1 for named in facts.values()):
            facts = {domain: named[: len(named) // 2] for domain, named in facts.items()}
        else:
            lines = lines[(len(lines) + 1) // 2 :]
    return None


def _lines(turns: Sequence[Turn], extractor: Extractor) -> tuple[list[_Line], int]:
    """Return the conversation up to its last asked sentence, and the number of sentences about others."""
    newest: list[_Line] = []
    asked = of_others = 0
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if asked == MAX_ASKED:
            break
        if turn.role is Role.ASSISTANT:
            newest.append(_Line(_of_assistant(turn)))
        for sentence in reversed(extractor.sentences(turn, turns[:place], _LONGEST_TURN_CHARS)):
            line = _line(turn, sentence)
            newest.append(line)
            of_others += line.asked is None and sentence.speaks is Speaks.OF_OTHERS
            asked += line.asked is not None
            if asked == MAX_ASKED:
                break
    said = list(dropwhile(lambda line: line.asked is None, newest))
    return said[::-1], of_others


def _line(turn: Turn, sentence: OwnSentence) -> _Line:
    shown = as_data(sentence.text, _PIECE_CHARS)
    if not content(sentence.text) or sentence.speaks is not Speaks.FOR_THEM:
        return _Line(f"person: {shown}")
    return _Line(shown, Asked(turn, sentence.text, sentence.strength))


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
    """Return the facts of which the person uses a word."""
    spoken = [fact for fact in vocabulary if words(fact.value) and is_meant(fact.value, text)]
    vouched = [fact for fact in spoken if vouching.held(fact.dimension, fact.value) is None]
    return sorted(dict.fromkeys(vouched), key=lambda fact: not words(fact.value) <= words(text))[:MAX_VOCABULARY]


def _schema(asked: Iterable[str]) -> dict[str, Any]:
    told = {"type": "string", "maxLength": _MAX_VERDICT_CHARS + MAX_VALUE_CHARS}
    return strict_object(dict.fromkeys(asked, told))
