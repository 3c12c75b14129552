"""The one question of a chunk of a conversation: the model quotes the person, and judges what the quotation says."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from operators.asks import CORRECTION_TOKENS, strict_object
from operators.listen.own import own_words
from operators.listen.quoting import is_meant
from operators.privacy import Text, without_orders
from operators.prompts import as_data, template
from operators.vouch import DEFAULT, Vouching
from operators.words import words
from schemas import Fact
from schemas.cards import Card, CardLine, Turn
from schemas.statements import Scope, Stance
from schemas.utterances import Role

PROMPT: Final = "listen.v1"
MAX_PROMPT_TOKENS: Final = 3_000
"""Of a chunk's question: a chunk has a thousand tokens of its own."""
MIN_PROMPT_TOKENS: Final = 1_100
"""The prompt's own words, a corrective retry's, and a few sentences."""
MAX_FOUND: Final = 8
MAX_QUOTE_CHARS: Final = 200
MAX_VALUE_CHARS: Final = 100
MAX_KNOWN: Final = 30
MAX_VOCABULARY: Final = 40
MIN_WORDS: Final = 2
"""Whoever says less than that tells nothing that needs a model."""
LIKES, DOES_NOT_LIKE = "likes", "does not like"
THE_PERSON, SOMEBODY_ELSE = "the person", "somebody else"
SAID, IMPLIED = "said", "implied"
SAYS, INSTEAD, NOT_ANY_MORE, FORGET = "says", "instead", "not any more", "forget"
NONE: Final = "none"
_ASSISTANT_CHARS: Final = 160
_LONGEST_CHUNK_CHARS: Final = 24_000
_LONGEST_TURN_CHARS: Final = 6_000
_SHORTEST_TURN_CHARS: Final = 120
_FACT_CHARS: Final = 72

Vocabulary = Callable[[str], Sequence[Fact]]


@dataclass(frozen=True)
class Question:
    """A question to the model, with the meaning of its answer's words.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer must fit.
        known: the lines of the card that can be named, by what the model names them by.
        facts: what of the vocabulary it was shown, by domain.
        said: the person's words as the prompt shows them, by utterance: what is quoted must stand in them.
    """

    prompt: str
    schema: Mapping[str, Any]
    known: Mapping[str, CardLine]
    facts: Mapping[str, Sequence[Fact]]
    said: Mapping[str, str]

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        quoted = "conversation words " * MAX_QUOTE_CHARS
        entry = {
            "words": quoted[:MAX_QUOTE_CHARS],
            "whose": SOMEBODY_ELSE,
            "stance": DOES_NOT_LIKE,
            "value": quoted[:MAX_VALUE_CHARS],
            "strength": IMPLIED,
            "effect": NOT_ANY_MORE,
            "line": f"k{MAX_KNOWN}",
            "scope": Scope.SESSION.value,
        }
        return orjson.dumps({"findings": [entry] * MAX_FOUND}).decode()


def question(
    turns: Sequence[Turn],
    card: Card | None,
    vocabulary: Vocabulary,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    vouching: Vouching = DEFAULT,
) -> Question | None:
    """The question that a chunk puts, or None if the person says nothing in it.

    Args:
        turns: of one conversation, in their order.
        card: what is known of the person; lines for which nothing vouches are not shown.
        vocabulary: the facts of a domain; those are shown of which the person says a word.
        count_tokens: how long a text is.
        max_tokens: the prompt's budget, a corrective retry's addition included.
        vouching: what vouches for values.
    """
    own = {turn.event_id: spoken for place, turn in enumerate(turns) if (spoken := _own(turn, turns[:place]))}
    text = " ".join(own.values())
    if len(text.split()) < MIN_WORDS:
        return None
    known = _known(card, text, vouching)
    facts = {domain: _named(vocabulary(domain), text, vouching) for domain in _domains(turns)}
    held = [turn for turn in turns[: _last_own(turns, own) + 1] if turn.event_id in own or turn.role is Role.ASSISTANT]
    # Of a text that is far too long tokens are not even counted.
    chars = max(_SHORTEST_TURN_CHARS, min(_LONGEST_TURN_CHARS, _LONGEST_CHUNK_CHARS // max(len(own), 1)))
    while held:
        said = {turn.event_id: as_data(own[turn.event_id], chars) for turn in held if turn.event_id in own}
        prompt = template(PROMPT).substitute(
            most=MAX_FOUND,
            known="\n".join(f"- {name}: {_in_words(line)}" for name, line in known.items()) or "(nothing)",
            vocabulary="\n".join(f"- {_worded(fact)}" for fact in _every(facts)) or "(none)",
            conversation="\n".join(_lines(held, said)),
        )
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return Question(prompt, _schema(known), known, facts, said)
        # What is only there to understand the person by goes first, then the ends of long turns, then the oldest turns.
        if any(turn.role is Role.ASSISTANT for turn in held):
            held = [turn for turn in held if turn.event_id in own]
        elif len(known) > 1 or any(len(named) > 1 for named in facts.values()):
            known = dict(list(known.items())[: len(known) // 2])
            facts = {domain: named[: len(named) // 2] for domain, named in facts.items()}
        elif chars > _SHORTEST_TURN_CHARS:
            chars //= 2
        else:
            held = held[(len(held) + 1) // 2 :]
    return None


def _own(turn: Turn, before: Sequence[Turn]) -> str:
    """What of a turn a model reads: the person's own words, without sentences that would order a machine about."""
    spans = (as_data(span.text, _LONGEST_TURN_CHARS) for span in own_words(turn, before))
    read, room = [], _LONGEST_TURN_CHARS
    for span in spans:
        if room > 0 and (said := without_orders(span[:room], Text.REQUEST)):
            read.append(said)
        room -= len(span)
    return " … ".join(read)


def _last_own(turns: Sequence[Turn], own: Mapping[str, str]) -> int:
    return max(place for place, turn in enumerate(turns) if turn.event_id in own)


def _lines(turns: Iterable[Turn], own: Mapping[str, str]) -> Iterator[str]:
    for turn in turns:
        if turn.event_id in own:
            yield f"person: {own[turn.event_id]}"
        else:
            # People answer to what stands last.
            text = turn.text[-2 * _ASSISTANT_CHARS :]
            said = as_data(text, 2 * _ASSISTANT_CHARS)
            is_whole = text == turn.text and len(said) <= _ASSISTANT_CHARS
            yield f"assistant: {said}" if is_whole else f"assistant: … {said[-_ASSISTANT_CHARS:].partition(' ')[2]}"


def _known(card: Card | None, text: str, vouching: Vouching) -> dict[str, CardLine]:
    """Lines of the card, those that the person speaks of first, then what they said last."""
    lines = () if card is None else card.lines
    shown = [line for line in lines if vouching.held(line.dimension, line.value) is None]
    shown.sort(key=lambda line: (not is_meant(line.value, text), -line.confirmed_at.timestamp(), line.line_id))
    return {f"k{place}": line for place, line in enumerate(shown[:MAX_KNOWN], 1)}


def _named(vocabulary: Sequence[Fact], text: str, vouching: Vouching) -> list[Fact]:
    """What of a vocabulary the person has a word of: nothing else could be found in what they say."""
    spoken = [fact for fact in vocabulary if words(fact.value) and is_meant(fact.value, text)]
    vouched = [fact for fact in spoken if vouching.held(fact.dimension, fact.value) is None]
    return sorted(dict.fromkeys(vouched), key=lambda fact: not words(fact.value) <= words(text))[:MAX_VOCABULARY]


def _domains(turns: Sequence[Turn]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(turn.domain for turn in turns if turn.role is Role.USER and turn.domain))


def _every(facts: Mapping[str, Sequence[Fact]]) -> tuple[Fact, ...]:
    return tuple(dict.fromkeys(fact for named in facts.values() for fact in named))[:MAX_VOCABULARY]


def _worded(fact: Fact) -> str:
    return as_data(f"{fact.dimension}: {fact.value}", _FACT_CHARS)


def _in_words(line: CardLine) -> str:
    verb = DOES_NOT_LIKE if line.stance is Stance.AVOIDS else LIKES
    where = "" if line.domain is None else f" ({line.domain})"
    return as_data(f"{verb} {line.value}{where}", 2 * _FACT_CHARS)


def _schema(known: Iterable[str]) -> dict[str, Any]:
    def one_of(*each: str) -> dict[str, Any]:
        return {"type": "string", "enum": list(each)}

    entry = strict_object(
        {
            "words": {"type": "string", "maxLength": MAX_QUOTE_CHARS},
            "whose": one_of(THE_PERSON, SOMEBODY_ELSE),
            "stance": one_of(LIKES, DOES_NOT_LIKE),
            "value": {"type": "string", "maxLength": MAX_VALUE_CHARS},
            "strength": one_of(SAID, IMPLIED),
            "effect": one_of(SAYS, INSTEAD, NOT_ANY_MORE, FORGET),
            "line": one_of(NONE, *known),
            "scope": one_of(*(scope.value for scope in (Scope.ALWAYS, Scope.SESSION, Scope.NOW))),
        }
    )
    return strict_object({"findings": {"type": "array", "items": entry, "maxItems": MAX_FOUND}})
