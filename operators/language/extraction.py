"""Preferences in a chunk of a conversation, by a model and together with the rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from schemas.cards import FREE, MAX_FINDINGS, Card, CardLine, Strength, Turn
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
    """Has a model read what a person said in a chunk of a conversation."""

    def __init__(self, client: Asks, *, vouching: Vouching, extractor: Extractor) -> None:
        super().__init__(client, vouching=vouching)
        self._extractor = extractor

    async def listen(self, turns: Sequence[Turn], card: Card | None, vocabulary: Vocabulary) -> Heard:
        """What the person says of themselves, by one call; by none where they say nothing.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = question(
            turns,
            vocabulary,
            max_tokens=MAX_PROMPT_TOKENS,
            vouching=self._vouching,
            extractor=self._extractor,
        )
        if asked is None:
            return Heard()
        reply = await self._ask(PROMPT, asked)
        found, of_others = heard(asked, reply.answer, card, self._extractor, self._vouching)
        return Heard(found, of_others, reply.reasoned_by(PROMPT))


def heard(
    asked: Question, answer: Mapping[str, Any], card: Card | None, extractor: Extractor, vouching: Vouching
) -> tuple[tuple[Finding, ...], int]:
    """What an answer that fits the question's schema says of the person, and how much of it is of others.

    A verdict counts only if what it is about stands in the person's sentence.
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
    """The verdicts of an answer such as `likes: film noir; dislikes: musicals`."""
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
    """The finding of a verdict, or None if what it says is not in the sentence."""
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
    """What a value names: a fact of the turn's domain if it is one, else a few words of no vocabulary."""
    domain = sentence.turn.domain
    named = [
        fact
        for fact in asked.facts.get(domain or "", ())
        if normalise(value) in (normalise(fact.value), normalise(f"{fact.dimension}: {fact.value}"))
    ]
    return (domain, named[0]) if len(named) == 1 else (None, Fact.model_construct(dimension=FREE, value=value))


def _replaced(value: str, sentence: Asked, card: Card | None) -> str | None:
    """The one line that a sentence has a word of; which of several is meant, the merge finds."""
    lines = () if card is None else card.lines
    of_it = [
        line for line in lines if _is_of(line, value, sentence.words) and normalise(line.value) != normalise(value)
    ]
    return of_it[0].value if len(of_it) == 1 else None


def _is_of(line: CardLine, value: str, said: str) -> bool:
    return is_meant(line.value, f"{said} {value}") or is_meant(value, line.words)


def _consistent(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each thing once, and nothing that the model says is both liked and not."""
    first: dict[tuple[object, ...], Finding] = {}
    stances: dict[tuple[object, ...], set[Stance]] = {}
    for finding in findings:
        about = (finding.domain, finding.dimension, normalise(finding.value), finding.scope)
        first.setdefault(about, finding)
        stances.setdefault(about, set()).add(finding.stance)
    return tuple(finding for about, finding in first.items() if len(stances[about]) == 1)


def both(rules: Heard, model: Heard) -> Heard:
    """What rules and a model heard in one chunk, together.

    Rules are sure of what they understand, and a wish to forget never depends on a model. What both found in the same
    words is one finding: the rules', unless only the model names it by the domain's vocabulary.
    """
    findings = list(rules.findings)
    for added in model.findings:
        places = [place for place, known in enumerate(findings) if _is_same(known, added)]
        if not places:
            if not any(_is_against(known, added) or _is_replaced(known, added) for known in rules.findings):
                findings.append(added)
        elif added.dimension != FREE and _is_better(findings[places[0]], added):
            known = findings[places[0]]
            findings[places[0]] = replace(known, dimension=added.dimension, value=added.value, domain=added.domain)
    findings.sort(key=lambda finding: finding.said_at)
    return Heard(tuple(findings[:MAX_FINDINGS]), max(rules.of_others, model.of_others), model.reasoned_by)


def _is_same(known: Finding, added: Finding) -> bool:
    return _is_about_the_same(known, added) and (known.stance == added.stance or _takes_back(known))


def _is_against(known: Finding, added: Finding) -> bool:
    """Whether a model says the opposite of what rules read in the same words."""
    return _is_about_the_same(known, added) and known.stance != added.stance


def _is_replaced(known: Finding, added: Finding) -> bool:
    """Whether a model tells of what rules know to be over: "no longer enjoy" is no dislike."""
    return known.event_id == added.event_id and known.replaces is not None and is_said(added.value, known.replaces)


def _is_better(known: Finding, added: Finding) -> bool:
    return known.dimension == FREE and known.effect == added.effect and known.stance == added.stance


def _takes_back(finding: Finding) -> bool:
    return finding.effect in (Effect.FORGETS, Effect.WITHDRAWS)


def _is_about_the_same(known: Finding, added: Finding) -> bool:
    if known.event_id != added.event_id:
        return False
    overlaps = known.words in added.words or added.words in known.words
    return overlaps and (is_meant(known.value, added.value) or is_meant(added.value, known.value))
