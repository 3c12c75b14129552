"""Reads corrections with a model, which quotes and chooses offered things."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from operators.language.corrections import known_facts
from operators.language.output_policy import OutputGate
from operators.language.ports import Interpretation, ReadDirective
from operators.llm import (
    CORRECTION_TOKENS,
    MAX_PROMPT_TOKENS,
    ModelClient,
    ask,
    strict_object,
    without_contradictions,
)
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from schemas import Correction, Directive, Fact, ItemFacts, NotUnderstood, PolicySkill, Scope, Stance

PROMPT: Final = "understand.v1"
MAX_SAYS: Final = 4
MAX_TEXT_CHARS: Final = 600
MAX_QUOTE_CHARS: Final = 200
MAX_KNOWN: Final = 60
MAX_SHOWN: Final = 12
WANTS, DOES_NOT_WANT, WOULD_DO = "wants", "does not want", "would do"
THE_PERSON, ANOTHER_PERSON = "the person", "somebody else"
NO_SCOPE: Final = "not said"
_FACT_CHARS, _TITLE_CHARS = 72, 60
MODEL: Final = "model"
MIN_QUOTE_CHARS: Final = 2


@dataclass(frozen=True)
class CorrectionQuestion:
    """A question; `facts` and `items` (ids) by their names in the prompt."""

    prompt: str
    schema: Mapping[str, Any]
    text: str
    facts: Mapping[str, Fact]
    items: Mapping[str, str]


def build_question(
    correction: Correction, items: Sequence[ItemFacts], skill: PolicySkill, *, max_tokens: int, gate: OutputGate
) -> CorrectionQuestion | None:
    """Return the question about a correction; None without anything to name."""
    text = as_data(correction.text, MAX_TEXT_CHARS)
    shown = list(gate.filter_items(items[:MAX_SHOWN]))
    facts = _worded(shown, skill, gate)
    named = {f"item {place}": item.item_id for place, item in enumerate(shown, 1)}
    while facts or named:
        prompt = template(PROMPT).substitute(
            most=MAX_SAYS,
            said=text,
            known="\n".join(f"- {words}" for words in facts) or "(nothing)",
            shown="\n".join(_shown_lines(named, shown, facts, correction.item_id)) or "(nothing)",
        )
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return CorrectionQuestion(prompt, _schema([*facts, *named]), text, facts, named)
        # Drop facts of items that are not shown first, then the last items.
        (facts if len(facts) > len(named) else named).popitem()
    return None


def _worded(shown: Sequence[ItemFacts], skill: PolicySkill, gate: OutputGate) -> dict[str, Fact]:
    of_shown = {fact for item in shown for fact in item.facts}
    worded: dict[str, Fact] = {}
    for fact in known_facts(shown, skill, ()):
        # Facts of shown items have passed the gate; a line of the skill has not.
        if fact in of_shown or gate.rejection(fact.dimension, fact.value) is None:
            worded.setdefault(as_data(f"{fact.dimension}: {fact.value}", _FACT_CHARS), fact)
    return dict(list(worded.items())[:MAX_KNOWN])


def _shown_lines(
    named: Mapping[str, str], shown: Sequence[ItemFacts], facts: Mapping[str, Fact], about: str | None
) -> Iterator[str]:
    words_of = {fact: words for words, fact in facts.items()}
    # The last items may be cut from `named`.
    for name, item in zip(named, shown, strict=False):
        has = "; ".join(words_of[fact] for fact in item.facts if fact in words_of)
        this = " | this is what they speak of" if item.item_id == about else ""
        yield f"- {name} | {as_data(item.title, _TITLE_CHARS) or '(no title)'} | {has or '(nothing known)'}{this}"


def _schema(things: Iterable[str]) -> dict[str, Any]:
    choices = {
        "whose": [THE_PERSON, ANOTHER_PERSON],
        "thing": list(things),
        "stance": [WANTS, DOES_NOT_WANT, WOULD_DO],
        "scope": [*(scope.value for scope in Scope), NO_SCOPE],
    }
    properties: dict[str, Any] = {"words": {"type": "string", "maxLength": MAX_QUOTE_CHARS}}
    properties |= {name: {"type": "string", "enum": words} for name, words in choices.items()}
    entry = strict_object(properties)
    return strict_object({"says": {"type": "array", "items": entry, "maxItems": MAX_SAYS}})


@dataclass(frozen=True)
class LlmCorrectionReader:
    """Reads corrections with a model."""

    client: ModelClient
    gate: OutputGate

    async def understand(
        self, correction: Correction, items: Sequence[ItemFacts], skill: PolicySkill
    ) -> Interpretation:
        """Return the meaning by at most one call, or raise ReasonerUnavailable."""
        question = build_question(correction, items, skill, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate)
        if question is None:
            return Interpretation(acceptable=tuple(correction.acceptable))
        reply = await ask(self.client, PROMPT, question.prompt, question.schema)
        return replace(parse_answer(question, reply.answer, correction), reasoned_by=reply.reasoned_by(PROMPT))


def parse_answer(question: CorrectionQuestion, answer: Mapping[str, Any], correction: Correction) -> Interpretation:
    """Return the meaning of an answer's exact quotations about own taste."""
    entries = [
        entry
        for entry in answer["says"]
        if len(entry["words"].strip()) >= MIN_QUOTE_CHARS and entry["words"] in question.text
    ]
    own = [entry for entry in entries if entry["whose"] == THE_PERSON]
    directives = [read for entry in own if (read := _read(entry, question, correction)) is not None]
    wanted = {read.directive.item_id for read in directives}
    would_do = (question.items.get(entry["thing"]) for entry in own if entry["stance"] == WOULD_DO)
    suits = tuple(dict.fromkeys((*correction.acceptable, *(item for item in would_do if item and item not in wanted))))
    is_about_another = bool(entries) and not own
    why = NotUnderstood.FOR_ANOTHER if is_about_another else None
    kept = without_contradictions(
        ((each.directive.dimension, each.directive.value, each.directive.item_id), each.directive.stance, each)
        for each in directives
    )
    return Interpretation(kept, suits, correction.language or "", is_about_another, why)


def _read(entry: Mapping[str, str], question: CorrectionQuestion, correction: Correction) -> ReadDirective | None:
    if entry["stance"] == WOULD_DO:
        return None
    stance = Stance.AVOIDS if entry["stance"] == DOES_NOT_WANT else Stance.PREFERS
    thing = entry["thing"]
    if (fact := question.facts.get(thing)) is not None:
        directive = Directive(stance=stance, dimension=fact.dimension, value=fact.value)
    elif (item := question.items.get(thing)) is not None:
        directive = Directive(stance=stance, item_id=item)
    else:
        return None
    scope = None if entry["scope"] == NO_SCOPE else Scope(entry["scope"])
    return ReadDirective(directive, entry["words"].strip(), correction.scope or scope, MODEL)
