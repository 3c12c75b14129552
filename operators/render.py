"""A policy skill as people read it, and the size that counts (paper 2.3: about 1,500 characters)."""

from collections.abc import Iterable, Sequence

from schemas import Attribute, Kind, PolicySkill, Strategy, Tier

SECTIONS = {
    Kind.PREFERENCE: "Core preferences",
    Kind.PATTERN: "Behavioral patterns",
    Kind.CRITERION: "Ranking criteria",
}
MAX_VALUE_CHARS = 60
MUST_INCLUDE = 3
EXPLORATION = 0.15


def clip(text: str, most: int = MAX_VALUE_CHARS) -> str:
    """One line of at most this many characters.

    >>> clip("a  long story", 7)
    'a long…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def line_of(attribute: Attribute) -> str:
    """One attribute as a line: what, where seen, how sure."""
    pinned = ", pinned" if attribute.pinned else ""
    return f"- {clip(attribute.value)} ({attribute.dimension}, {attribute.tier}{pinned})"


def render_lines(attributes: Sequence[Attribute], strategy: Strategy) -> str:
    """The document of these attributes, section by section, strongest first."""
    parts: list[str] = []
    for kind, heading in SECTIONS.items():
        lines = [a for a in attributes if a.kind is kind]
        if lines:
            lines.sort(key=lambda a: (-a.tier, -a.confirmed_at, -a.support, a.attribute_id))
            parts.append(f"## {heading}\n" + "\n".join(line_of(a) for a in lines))
    if strategy.must_include:
        parts.append(
            "## Strategy\n"
            f"- must include: {', '.join(clip(v, 30) for v in strategy.must_include)}\n"
            + (f"- tie breaker: {clip(strategy.tie_breaker, 70)}\n" if strategy.tie_breaker else "")
            + f"- exploration: {strategy.exploration:.0%}"
        )
    return "\n".join(parts)


def render(skill: PolicySkill) -> str:
    """The whole skill as text of at most 1,500 characters, without the user's id."""
    return render_lines(skill.attributes, skill.strategy)


def strategy_of(attributes: Iterable[Attribute]) -> Strategy:
    """How to use these attributes (App. E.3): what to include, what breaks a tie, how much to explore."""
    sure = sorted((a for a in attributes if a.tier >= Tier.MEDIUM), key=lambda a: (-a.tier, -a.support, a.attribute_id))
    likes = [a.value for a in sure if a.kind is Kind.PREFERENCE]
    criteria = [a.value for a in sure if a.kind is Kind.CRITERION]
    patterns = [a.value for a in sure if a.kind is Kind.PATTERN]
    exploration = EXPLORATION
    if any(value.startswith("explores") for value in patterns):
        exploration = 0.3
    elif any(value.startswith("stays") for value in patterns):
        exploration = 0.05
    tie_breaker = criteria[0] if criteria else next(iter(likes[MUST_INCLUDE:]), "")
    return Strategy(must_include=tuple(likes[:MUST_INCLUDE]), tie_breaker=tie_breaker, exploration=exploration)
