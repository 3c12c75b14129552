"""The slim skill that needs no LLM: likes by tier, distinctiveness and recency, one style phrase, within a budget."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from operators.prompts import visible
from operators.render import clip
from schemas import Attribute, Kind, PolicySkill, SlimSkill, Tier

MAX_LIKES = 3
MAX_LIKE_CHARS = 40
_MORE_LIKES = ((200, 16), (150, 12), (80, 6))
"""Where the paper measures longer injections (its figure 7), the room is for likes: there is but one style phrase."""


def eligible(skill: PolicySkill) -> list[Attribute]:
    """The lines that may leave the skill: medium and high ones (invariant 7, paper 2.3)."""
    return [attribute for attribute in skill.attributes if attribute.tier >= Tier.MEDIUM]


def max_likes(budget: int) -> int:
    """How many likes a slim skill of this many tokens has at most: the paper's three, more only in longer ones.

    >>> [max_likes(budget) for budget in (10, 30, 80, 150, 200)]
    [3, 3, 6, 12, 16]
    """
    return next((likes for tokens, likes in _MORE_LIKES if budget >= tokens), MAX_LIKES)


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
        relevant: attribute ids that the task at hand calls for, such as `relevant_to` finds; they come first.
    """
    likes, styles = phrases(skill, population, relevant)
    return composed(skill, list(likes), next(iter(styles), ""), count_tokens, budget)


def phrases(
    skill: PolicySkill, population: Mapping[str, float] | None = None, relevant: Collection[str] = ()
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """All that a slim skill may say, the best first: likes and style phrases, each with the line that it stands for.

    Args:
        skill: any version of a policy skill.
        population: as in `slim`.
        relevant: as in `slim`.
    """
    shares = population or {}

    def order(line: Attribute) -> tuple[bool, int, float, int, int, str]:
        rarity = -math.log(max(shares.get(line.attribute_id, 0.0), 0.01)) if shares else 0.0
        return (
            line.attribute_id not in relevant,
            -line.tier,
            -rarity,
            -line.confirmed_at,
            -line.support,
            line.attribute_id,
        )

    said: dict[Kind, dict[str, Attribute]] = {kind: {} for kind in Kind}
    for line in sorted(eligible(skill), key=order):
        if safe := plain(line.value):
            said[line.kind].setdefault(f"prefers {safe}" if line.kind is Kind.CRITERION else safe, line)
    # How they decide says more about a style than by what, and a bare "2000s" says nothing to a model.
    return said[Kind.PREFERENCE], {**said[Kind.PATTERN], **said[Kind.CRITERION]}


def lines_of(skill: PolicySkill, short: SlimSkill) -> list[Attribute]:
    """The lines of a skill that its slim skill says, whoever chose them."""
    likes, styles = phrases(skill)
    sections = dict(part.split(": ", 1) for part in short.text.split(" | ") if ": " in part)
    liked = sections.get("likes", "").split(", ")
    style = sections.get("style", "")
    return [line for like, line in likes.items() if like in liked] + [
        line for phrase, line in styles.items() if phrase == style
    ]


def composed(
    skill: PolicySkill, likes: Iterable[str], style: str, count_tokens: Callable[[str], int], budget: int
) -> SlimSkill:
    """As much of these likes and this style as the budget holds, as this skill's slim skill.

    Args:
        skill: whose it is.
        likes: the best first; the record lists three of them, its text as many as `max_likes` allows.
        style: one phrase, or empty.
        count_tokens: a real tokenizer's count.
        budget: in tokens.
    """
    most = max_likes(budget)
    chosen: list[str] = []
    for like in dict.fromkeys(likes):
        if len(chosen) < most and count_tokens(compose([*chosen, like], "")) <= budget:
            chosen.append(like)
    # A third like is worth less than the style phrase, the style phrase less than a second like.
    fewer = [chosen[:few] for few in range(len(chosen) - 1, MAX_LIKES - 2, -1)]
    for few, phrase in (*((some, style) for some in (chosen, *fewer)), (chosen, "")):
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
        likes=tuple(chosen[:MAX_LIKES]),
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
    return clip(re.sub(r"[|,:{}<>`\[\]\\\"]+", " ", visible(value)), MAX_LIKE_CHARS).strip()
