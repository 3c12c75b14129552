"""What a model understands of a correction: it quotes the person and names what it was offered; all else is dropped."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from operators.asks import Asker
from operators.language.understood import About, Read, Understood
from operators.understand.question import (
    DOES_NOT_WANT,
    NOT_SAID,
    PROMPT,
    THE_PERSON,
    WOULD_DO,
    Question,
    question,
)
from schemas import Correction, Directive, ItemFacts, NotUnderstood, PolicySkill, Scope, Stance

MODEL: Final = "model"
MIN_PROMPT_TOKENS: Final = 1_100
"""The prompt's own words, a corrective retry's, the longest text and one thing to name."""
MIN_QUOTE_CHARS: Final = 2


class LlmUnderstanding(Asker):
    """Has a model read what rules did not understand."""

    least_prompt_tokens = MIN_PROMPT_TOKENS

    async def understand(self, correction: Correction, items: Sequence[ItemFacts], skill: PolicySkill) -> Understood:
        """What the person says, by one call; by none where there is nothing that they could speak of.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = question(
            correction,
            items,
            skill,
            count_tokens=self._count_tokens,
            max_tokens=self._max_prompt_tokens,
            vouching=self._vouching,
        )
        if asked is None:
            return Understood(suits=tuple(correction.suits))
        reply = await self._ask(PROMPT, asked)
        return replace(understood(asked, reply.answer, correction), reasoned_by=reply.reasoned_by(PROMPT))


def understood(asked: Question, answer: Mapping[str, Any], correction: Correction) -> Understood:
    """What an answer that fits the question's schema says.

    An entry counts only if its words stand in what the person said, to the letter, and if it is about their own taste.
    """
    entries = [entry for entry in answer["says"] if _is_quoted(entry["words"], asked.said)]
    own = [entry for entry in entries if entry["whose"] == THE_PERSON]
    says = [read for entry in own if (read := _read(entry, asked, correction)) is not None]
    wanted = {read.directive.item_id for read in says}
    would_do = (asked.items.get(entry["thing"]) for entry in own if entry["stance"] == WOULD_DO)
    suits = _distinct((*correction.suits, *(item for item in would_do if item and item not in wanted)))
    is_of_another = bool(entries) and not own
    about = About.ANOTHER if is_of_another else About.THE_PERSON
    why = NotUnderstood.FOR_ANOTHER if is_of_another else None
    return Understood(_consistent(says), suits, correction.language or "", about, why)


def _is_quoted(words: str, said: str) -> bool:
    return len(words.strip()) >= MIN_QUOTE_CHARS and words in said


def _read(entry: Mapping[str, str], asked: Question, correction: Correction) -> Read | None:
    if entry["stance"] == WOULD_DO:
        return None
    stance = Stance.AVOIDS if entry["stance"] == DOES_NOT_WANT else Stance.PREFERS
    thing = entry["thing"]
    if (fact := asked.facts.get(thing)) is not None:
        directive = Directive(stance=stance, dimension=fact.dimension, value=fact.value)
    elif (item := asked.items.get(thing)) is not None:
        directive = Directive(stance=stance, item_id=item)
    else:
        return None
    scope = None if entry["scope"] == NOT_SAID else Scope(entry["scope"])
    return Read(directive, entry["words"].strip(), correction.scope or scope, MODEL)


def _consistent(says: Iterable[Read]) -> tuple[Read, ...]:
    """Each thing once, and nothing that the model says is both wanted and not."""
    stances: dict[tuple[str | None, ...], set[Stance]] = {}
    first: dict[tuple[str | None, ...], Read] = {}
    for read in says:
        about = (read.directive.dimension, read.directive.value, read.directive.item_id)
        stances.setdefault(about, set()).add(read.directive.stance)
        first.setdefault(about, read)
    return tuple(read for about, read in first.items() if len(stances[about]) == 1)


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
