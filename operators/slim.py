"""Slim (paper 2.3, C.2): two or three likes and one style phrase, within a token budget. No LLM call."""

import math
import re
from collections.abc import Callable, Collection, Mapping

from operators.render import clip
from schemas import Attribute, Kind, PolicySkill, SlimSkill, Tier

MAX_LIKES = 3
MAX_LIKE_CHARS = 40


def eligible(skill: PolicySkill) -> list[Attribute]:
    """The lines that may leave the skill: medium and high ones (invariant 7, paper 2.3)."""
    return [attribute for attribute in skill.attributes if attribute.tier >= Tier.MEDIUM]


def slim(
    skill: PolicySkill,
    count_tokens: Callable[[str], int],
    budget: int = 30,
    population: Mapping[str, float] | None = None,
    relevant: Collection[str] = (),
) -> SlimSkill:
    """The skill as an app injects it: `likes: X, Y, Z | style: phrase`, of at most `budget` tokens.

    Args:
        skill: any version of a policy skill.
        count_tokens: a real tokenizer's count.
        budget: in tokens; the paper's optimum is 30.
        population: share of the domain's users who have an attribute, by attribute id; what many have
            distinguishes nobody and comes later.
        relevant: attribute ids that the task at hand calls for; they come first.
    """
    shares = population or {}

    def order(line: Attribute) -> tuple[bool, float, int, int, str]:
        rarity = -math.log(max(shares.get(line.attribute_id, 0.0), 0.01)) if shares else 0.0
        return (
            line.attribute_id not in relevant,
            -(line.tier + rarity),
            -line.confirmed_at,
            -line.support,
            line.attribute_id,
        )

    lines = sorted(eligible(skill), key=order)
    likes = [safe for a in lines if a.kind is Kind.PREFERENCE and (safe := plain(a.value))]
    # How they decide says more about a style than by what, and a bare "2000s" says nothing to a model.
    styles = [safe for a in lines if a.kind is Kind.PATTERN and (safe := plain(a.value))]
    styles += [f"prefers {safe}" for a in lines if a.kind is Kind.CRITERION and (safe := plain(a.value))]
    likes, style = list(dict.fromkeys(likes)), (styles[0] if styles else "")
    chosen: list[str] = []
    for like in likes:
        if len(chosen) < MAX_LIKES and count_tokens(compose([*chosen, like], "")) <= budget:
            chosen.append(like)
    # A third like is worth less than the style phrase, the style phrase less than a second like.
    for few, phrase in ((chosen, style), (chosen[: MAX_LIKES - 1], style), (chosen, "")):
        text = compose(few, phrase)
        if count_tokens(text) <= budget:
            chosen, style = few, phrase
            break
    return SlimSkill(
        event_id=skill.event_id,
        occurred_at=skill.occurred_at,
        user_id=skill.user_id,
        domain=skill.domain,
        skill_version=skill.version,
        text=text,
        likes=tuple(chosen),
        style=style,
        tokens=count_tokens(text) if text else 0,
    )


def compose(likes: list[str], style: str) -> str:
    """The slim skill's one line.

    >>> compose(["mystery", "romance"], "explores many genres")
    'likes: mystery, romance | style: explores many genres'
    """
    parts = ([f"likes: {', '.join(likes)}"] if likes else []) + ([f"style: {style}"] if style else [])
    return " | ".join(parts)


def plain(value: str) -> str:
    """A value that cannot end its place in the line: no separators, no brackets, one line, at most 40 characters."""
    return clip(re.sub(r"[|,:{}<>`\[\]\\\"]+", " ", value), MAX_LIKE_CHARS).strip()
