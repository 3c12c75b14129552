"""Reads preferences in a chunk of a conversation with a model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from operators.asks import Asker, Asks
from operators.attributes import normalise
from operators.language.extraction_prompt import (
    DISLIKES,
    FORGET,
    LIKES,
    MAX_FOUND,
    MAX_PROMPT_TOKENS,
    MAX_VALUE_CHARS,
    NO_LONGER_LIKES,
    NOW_LIKES,
    OTHER,
    PROMPT,
    SEEMS_TO_DISLIKE,
    SEEMS_TO_LIKE,
    Asked,
    Question,
    Vocabulary,
    question,
)
from operators.language.finding import Effect, Finding, Heard
from operators.language.ports import Extractor
from operators.language.quoting import is_meant, is_said
from operators.vouch import Vouching
from schemas import Fact
from schemas.cards import FREE, MAX_FINDINGS, Card, Strength, Turn
from schemas.statements import Stance

MAX_VALUE_WORDS: Final = 12
_VERDICTS: Final = {
    LIKES: (Stance.PREFERS, Effect.STATES),
    DISLIKES: (Stance.AVOIDS, Effect.STATES),
    SEEMS_TO_LIKE: (Stance.PREFERS, Effect.STATES),
    SEEMS_TO_DISLIKE: (Stance.AVOIDS, Effect.STATES),
    NOW_LIKES: (Stance.PREFERS, Effect.UPDATES),
    NO_LONGER_LIKES: (Stance.PREFERS, Effect.WITHDRAWS),
    FORGET: (Stance.PREFERS, Effect.FORGETS),
}
_SEEMS: Final = frozenset({SEEMS_TO_LIKE, SEEMS_TO_DISLIKE})


class LlmListening(Asker):
    """Asks a model for the preferences in a chunk of a conversation."""

    def __init__(self, client: Asks, *, vouching: Vouching, extractor: Extractor) -> None:
        super().__init__(client, vouching=vouching)
        self._extractor = extractor

    async def listen(self, turns: Sequence[Turn], card: Card | None, vocabulary: Vocabulary) -> Heard:
        """Return the preferences, by one call; by none where the person says nothing of themselves.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = question(
            turns, vocabulary, max_tokens=MAX_PROMPT_TOKENS, vouching=self._vouching, extractor=self._extractor
        )
        if asked is None:
            return Heard()
        reply = await self._ask(PROMPT, asked)
        found, of_others = heard(asked, reply.answer, card, self._extractor, self._vouching)
        return Heard(found, of_others, reply.reasoned_by(PROMPT))


def heard(
    asked: Question, answer: Mapping[str, Any], card: Card | None, extractor: Extractor, vouching: Vouching
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings in an answer, and the number of sentences about others.

    A verdict counts only if its value stands in the person's sentence.
    """
    found: list[Finding] = []
    of_others = asked.of_others
    for key, sentence in asked.asked.items():
        for verdict, value in _told(answer[key]):
            if verdict == OTHER:
                of_others += 1
            elif (finding := _finding(verdict, value, sentence, asked, card, extractor, vouching)) is not None:
                found.append(finding)
    return _consistent(found)[:MAX_FOUND], of_others


def _told(answer: str) -> Iterator[tuple[str, str]]:
    # Such as `likes: film noir; dislikes: musicals`.
    for part in answer.split(";"):
        verdict, _, value = part.partition(":")
        yield " ".join(verdict.casefold().split()), " ".join(value.split()).strip(" .,;:!?\"'\u201c\u201d\u201e")


def _finding(
    verdict: str,
    value: str,
    sentence: Asked,
    asked: Question,
    card: Card | None,
    extractor: Extractor,
    vouching: Vouching,
) -> Finding | None:
    if verdict not in _VERDICTS:
        return None
    stance, effect = _VERDICTS[verdict]
    domain, about = _about(value, sentence, asked)
    strength = Strength.IMPLIED if verdict in _SEEMS else sentence.strength
    if not is_said(about.value, sentence.words):
        # Words that the person did not use must be fit for a prompt.
        if not is_meant(about.value, sentence.words) or vouching.held(about.dimension, about.value) is not None:
            return None
        strength = Strength.IMPLIED
    if len(about.value) > MAX_VALUE_CHARS or len(about.value.split()) > MAX_VALUE_WORDS:
        return None
    if effect in (Effect.WITHDRAWS, Effect.FORGETS) and not extractor.takes_away(sentence.words, effect):
        return None
    replaces = _replaced(about.value, sentence, card) if effect is Effect.UPDATES else None
    return Finding(
        stance=stance,
        value=about.value,
        words=sentence.words,
        event_id=sentence.turn.event_id,
        said_at=sentence.turn.said_at,
        dimension=about.dimension,
        domain=domain,
        strength=strength,
        effect=Effect.STATES if effect is Effect.UPDATES and replaces is None else effect,
        replaces=replaces,
    )


def _about(value: str, sentence: Asked, asked: Question) -> tuple[str | None, Fact]:
    """Return the fact of the turn's domain that a value names, else the words themselves."""
    domain = sentence.turn.domain
    named = [
        fact
        for fact in asked.facts.get(domain or "", ())
        if normalise(value) in (normalise(fact.value), normalise(f"{fact.dimension}: {fact.value}"))
    ]
    return (domain, named[0]) if len(named) == 1 else (None, Fact.model_construct(dimension=FREE, value=value))


def _replaced(value: str, sentence: Asked, card: Card | None) -> str | None:
    """Return the value of the card's line that a sentence is about, if it is one only."""
    found = [
        line.value
        for line in (() if card is None else card.lines)
        if normalise(line.value) != normalise(value)
        and (is_meant(line.value, f"{sentence.words} {value}") or is_meant(value, line.words))
    ]
    return found[0] if len(found) == 1 else None


def _consistent(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Drop repetitions, and values that the model calls both liked and disliked."""
    first: dict[tuple[object, ...], Finding] = {}
    stances: dict[tuple[object, ...], set[Stance]] = {}
    for finding in findings:
        about = (finding.domain, finding.dimension, normalise(finding.value), finding.scope)
        first.setdefault(about, finding)
        stances.setdefault(about, set()).add(finding.stance)
    return tuple(finding for about, finding in first.items() if len(stances[about]) == 1)


def both(rules: Heard, model: Heard) -> Heard:
    """Add a model's findings to those of the rules, where the rules found nothing in the same words.

    A wish to forget never depends on a model.
    """
    added = [found for found in model.findings if not any(_overlaps(known, found) for known in rules.findings)]
    findings = sorted((*rules.findings, *added), key=lambda finding: finding.said_at)
    return Heard(tuple(findings[:MAX_FINDINGS]), max(rules.of_others, model.of_others), model.reasoned_by)


def _overlaps(known: Finding, added: Finding) -> bool:
    if known.event_id != added.event_id:
        return False
    if known.replaces is not None and is_said(added.value, known.replaces):
        return True  # "no longer enjoy" is no dislike
    same_words = known.words in added.words or added.words in known.words
    return same_words and (is_meant(known.value, added.value) or is_meant(added.value, known.value))
