"""A question of the past, put together again from the log: the same choice and skill give the same prompt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operators import asks
from operators.asks import MAX_PROMPT_TOKENS, prompt_hash
from operators.evolve import question, rewrite
from operators.evolve.question import MAX_JUDGED
from operators.history import at_version
from operators.vouch import Vouching
from schemas import Contrast, PolicySkill, SkillDiff

PROMPTS = (question.PROMPT, rewrite.PROMPT)
"""The prompts about a choice that this release asks with."""
_BACK = 16
"""A model is asked about the skill as it was read; so many commands may have come before its answer was merged."""


@dataclass(frozen=True)
class Again:
    """A question as it is put together now.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer had to fit.
        hash: of both.
        recorded: the hash that the diff has of what was sent.
        skill_version: the version of the skill that it is about.
    """

    prompt: str
    schema: Mapping[str, Any]
    hash: str
    recorded: str
    skill_version: int

    @property
    def is_same(self) -> bool:
        """Whether it is what was sent, to the letter."""
        return self.hash == self.recorded


def again(
    diffs: Sequence[SkillDiff],
    version: int,
    contrast: Contrast,
    *,
    count_tokens: Callable[[str], int],
    vouching: Vouching,
) -> Again | None:
    """The question that a version answers; None if there is nothing to ask with this choice and skill.

    If no skill from shortly before gives what was sent, it is the question about the version right before.

    Args:
        diffs: the log of one skill, in order.
        version: one that a model's answer led to, by one of `PROMPTS`.
        contrast: the choice behind it, as `operators.steps.Evolve.begin` gives it.
        count_tokens: how long a text is.
        vouching: what vouched for values then.
    """
    by = next(diff.reasoned_by for diff in diffs if diff.version == version)
    first: Again | None = None
    for before in range(version - 1, max(-1, version - 1 - _BACK), -1):
        skill = at_version(diffs, before)
        asked = None if skill is None else _asked(by.prompt or "", contrast, skill, count_tokens, vouching)
        if asked is None:
            continue
        found = Again(asked.prompt, asked.schema, prompt_hash(asked.prompt, asked.schema), by.prompt_hash or "", before)
        if found.is_same:
            return found
        first = first or found
    return first


def _asked(
    prompt: str, contrast: Contrast, skill: PolicySkill, count_tokens: Callable[[str], int], vouching: Vouching
) -> asks.Question | None:
    limits: dict[str, Any] = {
        "count_tokens": count_tokens,
        "max_tokens": MAX_PROMPT_TOKENS,
        "max_attributes": MAX_JUDGED,
        "vouching": vouching,
    }
    if prompt == rewrite.PROMPT:
        return rewrite.rewrite(contrast, skill, **limits)
    return question.question(contrast, skill, **limits)
