"""Reads preferences in a chunk of a conversation with a model.

The model answers each numbered sentence with a few words. Questions, orders, sentences about others and private details
are left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from operators.attributes import normalise
from operators.language.memory import PROMPT as MEMORY_PROMPT
from operators.language.memory import TASK, halved, lines_by_effect, memory_text, remembered, verdict_schemas
from operators.language.output_policy import OutputGate
from operators.language.ports import Effect, Extraction, Extractor, PreferenceFinding, SentenceAbout
from operators.language.words import keywords, mentions_all, mentions_any, taste_words
from operators.llm import CORRECTION_TOKENS, ModelClient, ask, strict_object, without_contradictions
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from schemas import FREE, MAX_FINDINGS, Card, CardLine, Fact, Scope, Speaker, Stance, Strength, Turn

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
    """A question; `sentences` by answer key, vocabulary `facts` by domain, the card's lines in `memory` by key.

    `of_others` counts sentences that rules leave out because they are about others.
    """

    prompt: str
    schema: Mapping[str, Any]
    sentences: Mapping[str, PromptLine]
    facts: Mapping[str, Sequence[Fact]]
    of_others: int
    memory: Mapping[str, CardLine] = field(default_factory=dict)


def build_question(
    turns: Sequence[Turn],
    vocabulary: Vocabulary,
    *,
    max_tokens: int,
    gate: OutputGate,
    extractor: Extractor,
    memory: Mapping[str, CardLine] | None = None,
) -> ExtractionQuestion | None:
    """Return the question about a chunk; None without a usable sentence."""
    lines, of_others = _lines(turns, extractor)
    text = " ".join(line.text for line in lines if line.text)
    if len(text.split()) < MIN_WORDS:
        return None
    domains = dict.fromkeys(turn.domain for turn in turns if turn.role is Speaker.USER and turn.domain)
    facts: dict[str, list[Fact]] = {domain: _named(vocabulary(domain), text, gate) for domain in domains}
    shown = dict(memory or {})
    while lines:
        asked = [line for line in lines if line.text]
        sentences = {str(number): line for number, line in enumerate(asked, 1)}
        prompt = _prompt(lines, facts, shown)
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            answers = {key: {"type": "string", "maxLength": _MAX_ANSWER_CHARS} for key in sentences}
            schema = strict_object(answers | verdict_schemas(shown))
            return ExtractionQuestion(prompt, schema, sentences, facts, of_others, shown)
        # Cut the context first, then half of the vocabulary, of the memory, then the oldest sentences.
        if len(asked) < len(lines):
            lines = asked
        elif any(len(named) > 1 for named in facts.values()):
            facts = {domain: named[: len(named) // 2] for domain, named in facts.items()}
        elif shown:
            shown = halved(shown)
        else:
            lines = lines[(len(lines) + 1) // 2 :]
    return None


def _prompt(lines: Sequence[PromptLine], facts: Mapping[str, Sequence[Fact]], memory: Mapping[str, CardLine]) -> str:
    vocabulary, task, keys = _shown(facts), "", ""
    if memory:
        vocabulary = f"{vocabulary}\n<card>\n{memory_text(memory)}\n</card>".lstrip()
        task, keys = TASK, f" and each of {', '.join(memory)}"
    numbers = count(1)
    conversation = "\n".join(f"{next(numbers)}. {line.shown}" if line.text else line.shown for line in lines)
    return template(PROMPT).substitute(vocabulary=vocabulary, conversation=conversation, card_task=task, card_keys=keys)


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
    """Extracts preferences with a model; with `has_memory` it sees the card from before the chunk."""

    client: ModelClient
    extractor: Extractor
    gate: OutputGate
    has_memory: bool = False

    async def listen(self, turns: Sequence[Turn], card: Card | None, vocabulary: Vocabulary) -> Extraction:
        """Return the preferences by at most one call, or raise ReasonerUnavailable."""
        began = min((turn.stated_at for turn in turns), default=None)
        memory = remembered(card, began, self.gate) if self.has_memory and began is not None else {}
        question = build_question(
            turns, vocabulary, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate, extractor=self.extractor, memory=memory
        )
        if question is None:
            return Extraction()
        name = MEMORY_PROMPT if question.memory else PROMPT
        reply = await ask(self.client, name, question.prompt, question.schema, MAX_REPLY_TOKENS)
        found, of_others = parse_answer(question, reply.answer, card, self.extractor, self.gate)
        return Extraction(found, of_others, reply.reasoned_by(name))


def parse_answer(
    question: ExtractionQuestion, answer: Mapping[str, Any], card: Card | None, extractor: Extractor, gate: OutputGate
) -> tuple[tuple[PreferenceFinding, ...], int]:
    """Return an answer's findings and the number of sentences about others.

    A verdict counts only if its value appears in the sentence.
    """
    found: list[PreferenceFinding] = []
    of_others = question.of_others
    lines = () if card is None else card.lines
    touched = lines_by_effect(answer, question.memory)

    def replaced(value: str, sentence: PromptLine) -> str | None:
        return _replaced(value, sentence, lines, touched[Effect.UPDATES])

    for key, sentence in question.sentences.items():
        for part in answer[key].split(";"):  # such as `likes: film noir; dislikes: musicals`
            name, _, words_of = part.partition(":")
            verdict = " ".join(name.casefold().split())
            value = " ".join(words_of.split()).strip(" .,;:!?\"'\u201c\u201d\u201e")
            if verdict == "other":
                of_others += 1
            elif (finding := _finding(verdict, value, sentence, question, replaced, extractor, gate)) is not None:
                found.append(finding)
    stated = {normalise(each.value) for each in found}
    found += [each for each in _remembered(question, touched, extractor) if normalise(each.value) not in stated]
    kept = without_contradictions(
        ((each.domain, each.dimension, normalise(each.value), each.scope), each.stance, each) for each in found
    )
    return kept[:MAX_FOUND], of_others


def _finding(
    verdict: str,
    value: str,
    sentence: PromptLine,
    question: ExtractionQuestion,
    replaced: Callable[[str, PromptLine], str | None],
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
    replaces = replaced(about.value, sentence) if effect is Effect.UPDATES else None
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


def _remembered(
    question: ExtractionQuestion, touched: Mapping[Effect, Sequence[CardLine]], extractor: Extractor
) -> Iterator[PreferenceFinding]:
    """Yield the hints that confirm or withdraw lines, each by the newest sentence with words for it."""
    withdrawn = touched[Effect.WITHDRAWS]
    for line in (*touched[Effect.STATES], *withdrawn):
        ends = line in withdrawn
        for sentence in reversed(tuple(question.sentences.values())):
            named = [each for each in question.memory.values() if mentions_any(each.value, sentence.text)]
            # "I'm done with it" may end the only withdrawn line, but "I'm done with opera" only one about opera.
            is_about = line in named or (ends and len(withdrawn) == 1 and not named)
            if is_about and extractor.withdraws(sentence.text, Effect.WITHDRAWS) is ends:
                yield PreferenceFinding(
                    stance=line.stance,
                    value=line.value,
                    words=sentence.text,
                    event_id=sentence.turn.event_id,
                    stated_at=sentence.turn.stated_at,
                    dimension=line.dimension,
                    domain=line.domain,
                    strength=Strength.IMPLIED,
                    effect=Effect.WITHDRAWS if ends else Effect.STATES,
                )
                break


def _about(value: str, sentence: PromptLine, question: ExtractionQuestion) -> tuple[str | None, Fact]:
    domain = sentence.turn.domain
    named = [
        fact
        for fact in question.facts.get(domain or "", ())
        if normalise(value) in (normalise(fact.value), normalise(f"{fact.dimension}: {fact.value}"))
    ]
    return (domain, named[0]) if len(named) == 1 else (None, Fact(dimension=FREE, value=value))


def _replaced(value: str, sentence: PromptLine, lines: Sequence[CardLine], updated: Sequence[CardLine]) -> str | None:
    """Return the value of the single card line in a sentence, or else of the single line that is updated."""
    others = [line for line in lines if normalise(line.value) != normalise(value)]
    named = [
        line
        for line in others
        if mentions_any(line.value, f"{sentence.text} {value}") or mentions_any(value, line.words)
    ]
    found = named or [line for line in updated if line in others]
    return found[0].value if len(found) == 1 else None


def combine(rules: Extraction, model: Extraction) -> Extraction:
    """Add a model's findings in words without a finding by rules, and the values that these replace."""
    added = [found for found in model.findings if not any(_overlaps(known, found) for known in rules.findings)]
    linked = [_linked(found, model.findings) for found in rules.findings]
    findings = sorted((*linked, *added), key=lambda finding: finding.stated_at)
    return Extraction(tuple(findings[:MAX_FINDINGS]), max(rules.of_others, model.of_others), model.reasoned_by)


def _linked(known: PreferenceFinding, model: Iterable[PreferenceFinding]) -> PreferenceFinding:
    same = (known.event_id, known.stance, normalise(known.value))
    replaced = [
        found.replaces
        for found in model
        if found.effect is Effect.UPDATES and same == (found.event_id, found.stance, normalise(found.value))
    ]
    is_new = known.effect is Effect.STATES and known.scope is Scope.ALWAYS
    return replace(known, effect=Effect.UPDATES, replaces=replaced[0]) if is_new and replaced else known


def _overlaps(known: PreferenceFinding, added: PreferenceFinding) -> bool:
    if known.event_id != added.event_id:
        return False
    if known.replaces is not None and mentions_all(added.value, known.replaces):
        return True  # "no longer enjoy" is no dislike
    same_words = known.words in added.words or added.words in known.words
    return same_words and (mentions_any(known.value, added.value) or mentions_any(added.value, known.value))
