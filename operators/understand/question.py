"""The one question of a correction that rules did not understand: the model quotes, names and judges, nothing else."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from operators.asks import CORRECTION_TOKENS, strict_object
from operators.prompts import as_data, template
from operators.understand.known import known_facts
from operators.vouch import Vouching
from schemas import Correction, Fact, ItemFacts, PolicySkill, Scope

PROMPT: Final = "understand.v1"
MAX_SAYS: Final = 4
MAX_SAID_CHARS: Final = 600
MAX_QUOTE_CHARS: Final = 200
MAX_KNOWN: Final = 60
MAX_SHOWN: Final = 12
WANTS, DOES_NOT_WANT, WOULD_DO = "wants", "does not want", "would do"
THE_PERSON, SOMEBODY_ELSE = "the person", "somebody else"
NOT_SAID: Final = "not said"
_FACT_CHARS, _TITLE_CHARS = 72, 60


@dataclass(frozen=True)
class Question:
    """A question to the model, with the meaning of its answer's words.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer must fit.
        said: the person's words as the prompt shows them: what is quoted must stand in it.
        facts: what can be named, by the words that the model names it by.
        items: ids of the items that can be named, by the same.
    """

    prompt: str
    schema: Mapping[str, Any]
    said: str
    facts: Mapping[str, Fact]
    items: Mapping[str, str]

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        thing = max((*self.facts, *self.items), key=len)
        words = self.said[:MAX_QUOTE_CHARS]
        entry = {"words": words, "whose": SOMEBODY_ELSE, "thing": thing, "stance": DOES_NOT_WANT, "scope": NOT_SAID}
        return orjson.dumps({"says": [entry] * MAX_SAYS}).decode()


def question(
    correction: Correction,
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    vouching: Vouching,
) -> Question | None:
    """The question that these words put, or None if there is nothing that they could be about.

    Args:
        correction: with the person's words.
        items: the facts of what they see, in its order.
        skill: its lines and statements can be named too.
        count_tokens: how long a text is.
        max_tokens: the prompt's budget, a corrective retry's addition included.
        vouching: what vouches for values; others are neither shown nor named.
    """
    said = as_data(correction.text, MAX_SAID_CHARS)
    shown = list(vouching.of_items(items[:MAX_SHOWN]))
    facts = dict(_worded(shown, skill, vouching))
    named = {f"item {place}": item.item_id for place, item in enumerate(shown, 1)}
    while facts or named:
        prompt = template(PROMPT).substitute(
            most=MAX_SAYS,
            said=said,
            known="\n".join(f"- {words}" for words in facts) or "(nothing)",
            shown="\n".join(_shown_lines(named, shown, facts, correction.item_id)) or "(nothing)",
        )
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return Question(prompt, _schema([*facts, *named]), said, facts, named)
        # What is known but not shown stands last and goes first; then items go, from the last place on.
        (facts if len(facts) > len(named) else named).popitem()
    return None


def _worded(shown: Sequence[ItemFacts], skill: PolicySkill, vouching: Vouching) -> Iterator[tuple[str, Fact]]:
    of_shown = {fact for item in shown for fact in item.facts}
    worded: dict[str, Fact] = {}
    for fact in known_facts(shown, skill, ()):
        # Whatever the shown items have was let through with them; a line of the skill has to be vouched for by itself.
        if fact in of_shown or vouching.held(fact.dimension, fact.value) is None:
            worded.setdefault(as_data(f"{fact.dimension}: {fact.value}", _FACT_CHARS), fact)
    yield from list(worded.items())[:MAX_KNOWN]


def _shown_lines(
    named: Mapping[str, str], shown: Sequence[ItemFacts], facts: Mapping[str, Fact], about: str | None
) -> Iterator[str]:
    by_id: dict[str, ItemFacts] = {item.item_id: item for item in shown}
    words_of = {fact: words for words, fact in facts.items()}
    for name, item_id in named.items():
        item = by_id[item_id]
        has = "; ".join(words_of[fact] for fact in item.facts if fact in words_of)
        this = " | this is what they speak of" if item_id == about else ""
        yield f"- {name} | {as_data(item.title, _TITLE_CHARS) or '(no title)'} | {has or '(nothing known)'}{this}"


def _schema(things: Iterable[str]) -> dict[str, Any]:
    def one_of(*words: str) -> dict[str, Any]:
        return {"type": "string", "enum": list(words)}

    entry = strict_object(
        {
            "words": {"type": "string", "maxLength": MAX_QUOTE_CHARS},
            "whose": one_of(THE_PERSON, SOMEBODY_ELSE),
            "thing": one_of(*things),
            "stance": one_of(WANTS, DOES_NOT_WANT, WOULD_DO),
            "scope": one_of(*(scope.value for scope in Scope), NOT_SAID),
        }
    )
    return strict_object({"says": {"type": "array", "items": entry, "maxItems": MAX_SAYS}})
