"""What a model hears in a chunk of a conversation: it quotes the person and judges; what does not hold is dropped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from operators.asks import Asker, Asks
from operators.attributes import normalise
from operators.listen.finding import Effect, Finding, Heard
from operators.listen.guards import Speaks, speaks, takes_away
from operators.listen.own import own_words
from operators.listen.question import (
    DOES_NOT_LIKE,
    FORGET,
    IMPLIED,
    INSTEAD,
    MAX_FOUND,
    MAX_PROMPT_TOKENS,
    MAX_QUOTE_CHARS,
    MAX_VALUE_CHARS,
    MIN_PROMPT_TOKENS,
    NOT_ANY_MORE,
    PROMPT,
    SOMEBODY_ELSE,
    Question,
    Vocabulary,
    question,
)
from operators.listen.quoting import is_meant, is_said, quoted
from operators.privacy import Text, gives_orders
from operators.vouch import DEFAULT, Vouching
from schemas import Fact
from schemas.cards import FREE, Card, CardLine, Strength, Turn
from schemas.statements import Scope, Stance

MAX_VALUE_WORDS: Final = 12
_EFFECTS: Final = {INSTEAD: Effect.UPDATES, NOT_ANY_MORE: Effect.WITHDRAWS, FORGET: Effect.FORGETS}


class _Quote(NamedTuple):
    """Words of the person, where they stand (in which turn, part of it, and place), and how plainly they can say it."""

    place: tuple[int, int, int]
    turn: Turn
    words: str
    strength: Strength
    speaks: Speaks


class LlmListening(Asker):
    """Has a model read what a person said in a chunk of a conversation."""

    least_prompt_tokens = MIN_PROMPT_TOKENS

    def __init__(
        self,
        client: Asks,
        *,
        count_tokens: Callable[[str], int],
        max_prompt_tokens: int = MAX_PROMPT_TOKENS,
        vouching: Vouching = DEFAULT,
    ) -> None:
        super().__init__(client, count_tokens=count_tokens, max_prompt_tokens=max_prompt_tokens, vouching=vouching)

    async def listen(self, turns: Sequence[Turn], card: Card | None, vocabulary: Vocabulary) -> Heard:
        """What the person says of themselves, by one call; by none where they say nothing.

        Args:
            turns: of one conversation, in their order.
            card: what is known of the person.
            vocabulary: the facts of a domain.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = question(
            turns,
            card,
            vocabulary,
            count_tokens=self._count_tokens,
            max_tokens=self._max_prompt_tokens,
            vouching=self._vouching,
        )
        if asked is None:
            return Heard()
        reply = await self._ask(PROMPT, asked)
        found, of_others = heard(asked, reply.answer, turns, card)
        return Heard(found, of_others, reply.reasoned_by(PROMPT))


def heard(
    asked: Question, answer: Mapping[str, Any], turns: Sequence[Turn], card: Card | None
) -> tuple[tuple[Finding, ...], int]:
    """What an answer that fits the question's schema says of the person, and how much of it is of others.

    An entry counts only if its words are the person's own, to the letter, and what it is about stands in them.
    """
    found: list[tuple[_Quote, Finding]] = []
    of_others = 0
    for entry in answer["findings"][:MAX_FOUND]:
        quote = _quote(entry["words"], asked, turns)
        if quote is None:
            continue
        if entry["whose"] == SOMEBODY_ELSE or quote.speaks is Speaks.OF_OTHERS:
            of_others += 1
        elif quote.speaks is Speaks.FOR_THEM and (finding := _finding(entry, quote, asked, card)) is not None:
            found.append((quote, finding))
    found.sort(key=lambda each: each[0].place)
    return _consistent(finding for _, finding in found), of_others


def _quote(quotation: str, asked: Question, turns: Sequence[Turn]) -> _Quote | None:
    """Where the person said it; None where they did not, or where the model cannot have read it."""
    for place, turn in enumerate(turns):
        if quoted(quotation, asked.said.get(turn.event_id, "")) is None:
            continue
        for part, span in enumerate(own_words(turn, turns[:place])):
            found = quoted(quotation, span.text)
            if found is not None and found[1] - found[0] <= MAX_QUOTE_CHARS:
                return _Quote(
                    (place, part, found[0]), turn, span.text[slice(*found)], span.strength, speaks(span, *found)
                )
    return None


def _finding(entry: Mapping[str, str], quote: _Quote, asked: Question, card: Card | None) -> Finding | None:
    """The finding of an entry, or None if what it says is not in its words."""
    if gives_orders(quote.words, Text.REQUEST):
        return None
    domain, about = _about(entry["value"], quote, asked)
    value = about.value
    strength = Strength.IMPLIED if entry["strength"] == IMPLIED else quote.strength
    if not is_said(value, quote.words):
        # What is only meant may be worded otherwise, by words that act on nobody.
        if not is_meant(value, quote.words) or gives_orders(value, Text.VALUE):
            return None
        strength = Strength.IMPLIED
    if len(value) > MAX_VALUE_CHARS or len(value.split()) > MAX_VALUE_WORDS or gives_orders(value, Text.REQUEST):
        return None
    effect, replaces = _effect(entry, value, quote, asked, card)
    if effect in (Effect.WITHDRAWS, Effect.FORGETS) and not takes_away(quote.words, effect):
        return None
    return Finding(
        stance=Stance.AVOIDS if entry["stance"] == DOES_NOT_LIKE else Stance.PREFERS,
        value=value,
        words=quote.words,
        event_id=quote.turn.event_id,
        said_at=quote.turn.said_at,
        dimension=about.dimension,
        domain=domain,
        strength=strength,
        scope=Scope(entry["scope"]),
        effect=effect,
        replaces=replaces,
    )


def _about(value: str, quote: _Quote, asked: Question) -> tuple[str | None, Fact]:
    """What a value names: a fact of the turn's domain if it is one, else a few words of no vocabulary."""
    value = " ".join(value.split()).strip(" .,;:!?\"'")
    domain = quote.turn.domain
    named = [
        fact
        for fact in asked.facts.get(domain or "", ())
        if normalise(value) in (normalise(fact.value), normalise(f"{fact.dimension}: {fact.value}"))
    ]
    return (domain, named[0]) if len(named) == 1 else (None, Fact.model_construct(dimension=FREE, value=value))


def _effect(
    entry: Mapping[str, str], value: str, quote: _Quote, asked: Question, card: Card | None
) -> tuple[Effect, str | None]:
    """What a finding does to what is known; it changes only a line that it has a word of."""
    effect = _EFFECTS.get(entry["effect"], Effect.STATES)
    if effect is not Effect.UPDATES:
        return effect, None
    named = asked.known.get(entry["line"])
    lines = [named] if named is not None else [] if card is None else list(card.lines)
    of_it = [line for line in lines if _is_of(line, value, quote.words) and normalise(line.value) != normalise(value)]
    # Which of several lines is meant, nobody knows: the merge finds what the new one stands against.
    return (Effect.UPDATES, of_it[0].value) if len(of_it) == 1 else (Effect.STATES, None)


def _is_of(line: CardLine, value: str, quote: str) -> bool:
    return is_meant(line.value, f"{quote} {value}") or is_meant(value, line.words)


def _consistent(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each thing once, and nothing that the model says is both liked and not."""
    first: dict[tuple[object, ...], Finding] = {}
    stances: dict[tuple[object, ...], set[Stance]] = {}
    for finding in findings:
        about = (finding.domain, finding.dimension, normalise(finding.value), finding.scope)
        first.setdefault(about, finding)
        stances.setdefault(about, set()).add(finding.stance)
    return tuple(finding for about, finding in first.items() if len(stances[about]) == 1)
