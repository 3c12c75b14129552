"""The card as the memory of a model that reads conversations: M_i = f(C_i, M_i-1).

The model sees the lines from before a chunk, and judges whether the chunk confirms, updates or withdraws each. Such a
verdict becomes a finding of the sentence that has words for it, so the card stays the fold of its diffs.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from operators.cards.lines import MAX_LINE_CHARS, certainty, describe, is_safe_for_prompt
from operators.language.output_policy import OutputGate
from operators.language.ports import Effect
from operators.prompts import as_data
from operators.tokens import count_tokens
from schemas import Card, CardLine, is_answer_style

PROMPT: Final = "listen-memory.v1"
# The part that the prompt `listen.v2` gets with a memory.
TASK: Final = """
Then answer for each line of <card>, what the person stated before, with one of
- "unchanged": the numbered lines do not speak of it
- "confirmed": they speak of it, and the person still sees it so
- "updated": what the person "now likes" takes its place
- "withdrawn": the person sees it so no more
If <card> had "m1. likes quiz shows" and "m2. likes slow trains", the line "1. It has to be the plane for me now." \
would get
{"1": "now likes: the plane", "m1": "unchanged", "m2": "updated"}
"""
MAX_MEMORY_TOKENS: Final = 2_048
_VERDICTS: Final = {
    "unchanged": None,
    "confirmed": Effect.STATES,
    "updated": Effect.UPDATES,
    "withdrawn": Effect.WITHDRAWS,
}


def remembered(card: Card | None, before: datetime, gate: OutputGate) -> dict[str, CardLine]:
    """Return the lines from before a moment by key, the most certain and newest first, within the token limit.

    Wishes about answers are left out, because only their listed words count.
    """
    lines = [
        line
        for line in (() if card is None else card.lines)
        if line.since < before and not is_answer_style(line.dimension, line.value) and is_safe_for_prompt(line, gate)
    ]
    lines.sort(key=lambda line: (-certainty(line, before), -line.confirmed_at.timestamp(), line.line_id))
    kept: list[CardLine] = []
    for line in lines:
        if count_tokens(memory_text(_by_key([*kept, line]))) <= MAX_MEMORY_TOKENS:
            kept.append(line)
    return _by_key(kept)


def halved(memory: Mapping[str, CardLine]) -> dict[str, CardLine]:
    """Return the first half of a memory."""
    return dict(list(memory.items())[: len(memory) // 2])


def memory_text(memory: Mapping[str, CardLine]) -> str:
    """Return the memory as a prompt quotes it, one line per key."""
    return "\n".join(f"{key}. {as_data(describe(line), MAX_LINE_CHARS)}" for key, line in memory.items())


def verdict_schemas(memory: Mapping[str, CardLine]) -> dict[str, Any]:
    """Return the schema of each line's verdict."""
    return {key: {"type": "string", "enum": list(_VERDICTS)} for key in memory}


def lines_by_effect(answer: Mapping[str, Any], memory: Mapping[str, CardLine]) -> dict[Effect, list[CardLine]]:
    """Return the lines that an answer confirms, updates and withdraws; other keys and words are ignored."""
    found: dict[Effect, list[CardLine]] = {effect: [] for effect in _VERDICTS.values() if effect is not None}
    for key, line in memory.items():
        verdict = answer.get(key)
        if isinstance(verdict, str) and (effect := _VERDICTS.get(verdict)) is not None:
            found[effect].append(line)
    return found


def _by_key(lines: Sequence[CardLine]) -> dict[str, CardLine]:
    return {f"m{number}": line for number, line in enumerate(lines, 1)}
