"""A policy skill as people read it, and the size that counts (paper 2.3: about 1,500 characters)."""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from schemas import Attribute, Kind, PolicySkill, Strategy, Tier

SECTIONS = {
    Kind.PREFERENCE: "Core preferences",
    Kind.PATTERN: "Behavioral patterns",
    Kind.CRITERION: "Ranking criteria",
}
MAX_VALUE_CHARS = 60
_PINNED = ", pinned"
_PINNED_CHARS = len(_PINNED)
_HEADING_CHARS = len("## \n")
_TIER_CHARS = tuple(len(f"-  (, {tier})\n") for tier in sorted(Tier))
"""Of a line, besides its words: the tier's name and the signs; by the tier's number."""
_MOST_LINE_CHARS = max(_TIER_CHARS) + _PINNED_CHARS
_MOST_OTHER_CHARS = 400
"""More than all headings and the longest strategy have."""
MUST_INCLUDE = 3


@lru_cache(maxsize=16_384)
def clip(text: str, most: int = MAX_VALUE_CHARS) -> str:
    """One line of at most this many characters.

    >>> clip("a  long story", 7)
    'a long…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def line_of(attribute: Attribute) -> str:
    """One attribute as a line: what, where seen, how sure."""
    pinned = _PINNED if attribute.pinned else ""
    return f"- {clip(attribute.value)} ({attribute.dimension}, {attribute.tier}{pinned})"


def render_lines(attributes: Sequence[Attribute], strategy: Strategy) -> str:
    """The document of these attributes but the silent ones, section by section, strongest first."""
    parts: list[str] = []
    for kind, heading in SECTIONS.items():
        lines = [a for a in attributes if a.kind is kind and a.tier]
        if lines:
            lines.sort(key=lambda a: (-a.tier, -a.confirmed_at, -a.support, a.attribute_id))
            parts.append(f"## {heading}\n" + "\n".join(line_of(a) for a in lines))
    if strategy.must_include:
        parts.append(_strategy_lines(strategy))
    return "\n".join(parts)


def characters(attributes: Sequence[Attribute], strategy: Strategy) -> int:
    """How long the document of these attributes is, without writing it."""
    attributes = [a for a in attributes if a.tier]
    lengths = [
        len(clip(a.value)) + len(a.dimension) + _TIER_CHARS[a.tier] + (_PINNED_CHARS if a.pinned else 0)
        for a in attributes
    ]
    kinds = [a.kind for a in attributes]
    headings = [len(heading) + _HEADING_CHARS for kind, heading in SECTIONS.items() if kind in kinds]
    if strategy.must_include:
        lengths.append(len(_strategy_lines(strategy)) + 1)
    # Each line and each heading ends with a line break, but for the last.
    return max(0, sum(lengths) + sum(headings) - 1)


def fits(attributes: Sequence[Attribute], most: int) -> bool:
    """Whether the document of these attributes, with the strategy that follows, has at most `most` characters.

    Values as long as they are, which no document shows longer, tell that of nearly all skills.
    """
    said = [a for a in attributes if a.tier]
    words = sum([len(a.value) + len(a.dimension) for a in said])
    return (
        words + len(said) * _MOST_LINE_CHARS + _MOST_OTHER_CHARS <= most
        or characters(attributes, strategy_of(attributes)) <= most
    )


def _strategy_lines(strategy: Strategy) -> str:
    told = ["## Strategy", f"- must include: {', '.join(clip(v, 30) for v in strategy.must_include)}"]
    if strategy.tie_breaker:
        told.append(f"- tie breaker: {clip(strategy.tie_breaker, 70)}")
    return "\n".join(told)


def render(skill: PolicySkill) -> str:
    """The whole skill as text of at most 1,500 characters, without the user's id."""
    return render_lines(skill.attributes, skill.strategy)


def strategy_of(attributes: Iterable[Attribute], unwanted: Collection[str] = ()) -> Strategy:
    """Return how to use these attributes (App. E.3): likes to include, and a tie breaker.

    Args:
        attributes: the lines of a skill.
        unwanted: ids of lines that a statement avoids. No other line takes their place, so that the document never
            outgrows the size that the merge has reserved.
    """
    medium = Tier.MEDIUM
    sure = sorted([a for a in attributes if a.tier >= medium], key=lambda a: (-a.tier, -a.support, a.attribute_id))
    likes = [a for a in sure if a.kind is Kind.PREFERENCE]
    criteria = [a for a in sure if a.kind is Kind.CRITERION]
    breaks = (criteria or likes[MUST_INCLUDE:])[:1]
    included, tie_breaker = (
        tuple([a.value for a in lines if a.attribute_id not in unwanted]) for lines in (likes[:MUST_INCLUDE], breaks)
    )
    return _strategy(included, "".join(tie_breaker))


@lru_cache(maxsize=4_096)
def _strategy(must_include: tuple[str, ...], tie_breaker: str) -> Strategy:
    return Strategy(must_include=must_include, tie_breaker=tie_breaker)
