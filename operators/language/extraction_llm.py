"""Reads preferences in a chunk of a conversation with a model.

The model answers each numbered sentence with a few words. Questions, orders, sentences about others and private details
are left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from operators.attributes import normalise
from operators.language.output_policy import OutputGate
from operators.language.ports import Effect, Extraction, Extractor, PreferenceFinding, SentenceAbout
from operators.language.words import keywords, mentions_all, mentions_any, taste_words
from operators.llm import CORRECTION_TOKENS, ModelClient, ask, strict_object, without_contradictions
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from schemas import FREE, MAX_FINDINGS, Card, Fact, Speaker, Stance, Strength, Turn

PROMPT: Final = "listen.v2"
# Prompt and reply fit a context of 4,096 tokens together.
MAX_PROMPT_TOKENS, MAX_REPLY_TOKENS = 3_000, 1_000
# Small models skip answers in longer lists; the newest sentences are kept.
MAX_ASKED: Final = 40
MAX_FOUND: Final = 8
MAX_VALUE_CHARS: Final = 100
MAX_VOCABULARY: Final = 40
MIN_WORDS: Final = 2
_ASSISTANT_CHARS: Final = 160
_LONGEST_TURN_CHARS: Final = 6_000
_PIECE_CHARS: Final = 200
_FACT_CHARS: Final = 72
_MAX_ANSWER_CHARS: Final = 24 + MAX_VALUE_CHARS
MAX_VALUE_WORDS: Final = 12
# The words that the prompt offers, besides `other` for sentences about others.
_VERDICTS: Final = {
    "likes": (Stance.PREFERS, Effect.STATES, Strength.SAID),
    "dislikes": (Stance.AVOIDS, Effect.STATES, Strength.SAID),
    "seems to like": (Stance.PREFERS, Effect.STATES, Strength.IMPLIED),
    "seems to dislike": (Stance.AVOIDS, Effect.STATES, Strength.IMPLIED),
    "now likes": (Stance.PREFERS, Effect.UPDATES, Strength.SAID),
    "no longer likes": (Stance.PREFERS, Effect.WITHDRAWS, Strength.SAID),
    "forget": (Stance.PREFERS, Effect.FORGETS, Strength.SAID),
}

Vocabulary = Callable[[str], Sequence[Fact]]


@dataclass(frozen=True)
class PromptLine:
    """A prompt line; a question if it has a user's `text`."""

    shown: str
    turn: Turn
    text: str = ""


@dataclass(frozen=True)
class ExtractionQuestion:
    """A question; `sentences` by answer key, vocabulary `facts` by domain.

    `of_others` counts sentences that rules leave out because they are about others.
    """

    prompt: str
    schema: Mapping[str, Any]
    sentences: Mapping[str, PromptLine]
    facts: Mapping[str, Sequence[Fact]]
    of_others: int


def build_question(
    turns: Sequence[Turn], vocabulary: Vocabulary, *, max_tokens: int, gate: OutputGate, extractor: Extractor
) -> ExtractionQuestion | None:
    """Return the question about a chunk; None without a usable sentence."""
    lines, of_others = _lines(turns, extractor)
    text = " ".join(line.text for line in lines if line.text)
    if len(text.split()) < MIN_WORDS:
        return None
    domains = dict.fromkeys(turn.domain for turn in turns if turn.role is Speaker.USER and turn.domain)
    facts: dict[str, list[Fact]] = {domain: _named(vocabulary(domain), text, gate) for domain in domains}
    while lines:
        asked = [line for line in lines if line.text]
        sentences = {str(number): line for number, line in enumerate(asked, 1)}
        prompt = template(PROMPT).substitute(vocabulary=_shown(facts), conversation="\n".join(_numbered(lines)))
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            answers = {key: {"type": "string", "maxLength": _MAX_ANSWER_CHARS} for key in sentences}
            return ExtractionQuestion(prompt, strict_object(answers), sentences, facts, of_others)
        # Cut the context first, then half of the vocabulary, then the oldest sentences.
        if len(asked) < len(lines):
            lines = asked
        elif any(len(named) > 1 for named in facts.values()):
            facts = {domain: named[: len(named) // 2] for domain, named in facts.items()}
        else:
            lines = lines[(len(lines) + 1) // 2 :]
    return None


def _lines(turns: Sequence[Turn], extractor: Extractor) -> tuple[list[PromptLine], int]:
    lines: list[PromptLine] = []
    of_others = 0
    for place, turn in enumerate(turns):
        if turn.role is Speaker.ASSISTANT:
            lines.append(PromptLine(f"assistant: {_ending(turn.text)}", turn))
        for sentence in extractor.sentences(turn, turns[:place], _LONGEST_TURN_CHARS):
            shown = as_data(sentence.text, _PIECE_CHARS)
            if sentence.speaks is SentenceAbout.FOR_THEM and taste_words(sentence.text):
                lines.append(PromptLine(shown, turn, sentence.text))
            else:
                lines.append(PromptLine(f"person: {shown}", turn))
                of_others += sentence.speaks is SentenceAbout.OF_OTHERS
    asked = [number for number, line in enumerate(lines) if line.text]
    if not asked:
        return [], of_others
    oldest = asked[-MAX_ASKED] if len(asked) > MAX_ASKED else 0
    return lines[oldest : asked[-1] + 1], of_others


def _ending(text: str) -> str:
    # Users answer to the last words.
    shown = as_data(text[-_ASSISTANT_CHARS:], _ASSISTANT_CHARS)
    return shown if len(text) <= _ASSISTANT_CHARS else f"… {shown.partition(' ')[2]}"


def _numbered(lines: Iterable[PromptLine]) -> Iterator[str]:
    number = 0
    for line in lines:
        number += bool(line.text)
        yield f"{number}. {line.shown}" if line.text else line.shown


def _shown(facts: Mapping[str, Sequence[Fact]]) -> str:
    every = list(dict.fromkeys(fact for named in facts.values() for fact in named))[:MAX_VOCABULARY]
    listed = [f"- {as_data(f'{fact.dimension}: {fact.value}', _FACT_CHARS)}" for fact in every]
    return "\n".join(("<vocabulary>", *listed, "</vocabulary>")) if listed else ""


def _named(vocabulary: Sequence[Fact], text: str, gate: OutputGate) -> list[Fact]:
    named = (
        fact
        for fact in vocabulary
        if mentions_any(fact.value, text) and gate.rejection(fact.dimension, fact.value) is None
    )
    return sorted(dict.fromkeys(named), key=lambda fact: not keywords(fact.value) <= keywords(text))[:MAX_VOCABULARY]


@dataclass(frozen=True)
class LlmExtractor:
    """Extracts preferences with a model."""

    client: ModelClient
    extractor: Extractor
    gate: OutputGate

    async def listen(self, turns: Sequence[Turn], card: Card | None, vocabulary: Vocabulary) -> Extraction:
        """Return the preferences by at most one call, or raise ReasonerUnavailable."""
        question = build_question(
            turns, vocabulary, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate, extractor=self.extractor
        )
        if question is None:
            return Extraction()
        reply = await ask(self.client, PROMPT, question.prompt, question.schema, MAX_REPLY_TOKENS)
        found, of_others = parse_answer(question, reply.answer, card, self.extractor, self.gate)
        return Extraction(found, of_others, reply.reasoned_by(PROMPT))


def parse_answer(
    question: ExtractionQuestion, answer: Mapping[str, Any], card: Card | None, extractor: Extractor, gate: OutputGate
) -> tuple[tuple[PreferenceFinding, ...], int]:
    """Return an answer's findings and the number of sentences about others.

    A verdict counts only if its value appears in the sentence.
    """
    found: list[PreferenceFinding] = []
    of_others = question.of_others
    for key, sentence in question.sentences.items():
        for part in answer[key].split(";"):  # such as `likes: film noir; dislikes: musicals`
            name, _, words_of = part.partition(":")
            verdict = " ".join(name.casefold().split())
            value = " ".join(words_of.split()).strip(" .,;:!?\"'\u201c\u201d\u201e")
            if verdict == "other":
                of_others += 1
            elif (finding := _finding(verdict, value, sentence, question, card, extractor, gate)) is not None:
                found.append(finding)
    kept = without_contradictions(
        ((each.domain, each.dimension, normalise(each.value), each.scope), each.stance, each) for each in found
    )
    return kept[:MAX_FOUND], of_others


def _finding(
    verdict: str,
    value: str,
    sentence: PromptLine,
    question: ExtractionQuestion,
    card: Card | None,
    extractor: Extractor,
    gate: OutputGate,
) -> PreferenceFinding | None:
    if verdict not in _VERDICTS:
        return None
    stance, effect, strength = _VERDICTS[verdict]
    domain, about = _about(value, sentence, question)
    if not mentions_all(about.value, sentence.text):
        # Words that the user did not use must pass the gate.
        if not mentions_any(about.value, sentence.text) or gate.rejection(about.dimension, about.value) is not None:
            return None
        strength = Strength.IMPLIED
    if len(about.value) > MAX_VALUE_CHARS or len(about.value.split()) > MAX_VALUE_WORDS:
        return None
    if effect in (Effect.WITHDRAWS, Effect.FORGETS) and not extractor.withdraws(sentence.text, effect):
        return None
    replaces = _replaced(about.value, sentence, card) if effect is Effect.UPDATES else None
    return PreferenceFinding(
        stance=stance,
        value=about.value,
        words=sentence.text,
        event_id=sentence.turn.event_id,
        stated_at=sentence.turn.stated_at,
        dimension=about.dimension,
        domain=domain,
        strength=strength,
        effect=Effect.STATES if effect is Effect.UPDATES and replaces is None else effect,
        replaces=replaces,
    )


def _about(value: str, sentence: PromptLine, question: ExtractionQuestion) -> tuple[str | None, Fact]:
    domain = sentence.turn.domain
    named = [
        fact
        for fact in question.facts.get(domain or "", ())
        if normalise(value) in (normalise(fact.value), normalise(f"{fact.dimension}: {fact.value}"))
    ]
    return (domain, named[0]) if len(named) == 1 else (None, Fact(dimension=FREE, value=value))


def _replaced(value: str, sentence: PromptLine, card: Card | None) -> str | None:
    """Return the value of the single card line in a sentence."""
    found = [
        line.value
        for line in (() if card is None else card.lines)
        if normalise(line.value) != normalise(value)
        and (mentions_any(line.value, f"{sentence.text} {value}") or mentions_any(value, line.words))
    ]
    return found[0] if len(found) == 1 else None


def combine(rules: Extraction, model: Extraction) -> Extraction:
    """Add a model's findings in words without a finding by rules."""
    added = [found for found in model.findings if not any(_overlaps(known, found) for known in rules.findings)]
    findings = sorted((*rules.findings, *added), key=lambda finding: finding.stated_at)
    return Extraction(tuple(findings[:MAX_FINDINGS]), max(rules.of_others, model.of_others), model.reasoned_by)


def _overlaps(known: PreferenceFinding, added: PreferenceFinding) -> bool:
    if known.event_id != added.event_id:
        return False
    if known.replaces is not None and mentions_all(added.value, known.replaces):
        return True  # "no longer enjoy" is no dislike
    same_words = known.words in added.words or added.words in known.words
    return same_words and (mentions_any(known.value, added.value) or mentions_any(added.value, known.value))
