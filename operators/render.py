"""The size of a policy skill as a document (paper 2.3: about 1,500 characters), and its strategy."""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from schemas import Attribute, Kind, Strategy, Tier

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
"""The length of a line without its words, by the tier's number."""
_MOST_LINE_CHARS = max(_TIER_CHARS) + _PINNED_CHARS
_MOST_OTHER_CHARS = 400
"""More than the length of all headings and the longest strategy."""
MUST_INCLUDE = 3


@lru_cache(maxsize=16_384)
def clip(text: str, most: int = MAX_VALUE_CHARS) -> str:
    """Clip a text to one line of at most this many characters.

    >>> clip("a  long story", 7)
    'a long…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def line_of(attribute: Attribute) -> str:
    """Write one attribute as a line."""
    pinned = _PINNED if attribute.pinned else ""
    return f"- {clip(attribute.value)} ({attribute.dimension}, {attribute.tier}{pinned})"


def characters(attributes: Sequence[Attribute], strategy: Strategy) -> int:
    """Return the length of the document of these attributes, without writing it."""
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
    """True if the document of these attributes and their strategy has at most `most` characters.

    An upper bound decides for nearly all skills.
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


def strategy_of(attributes: Iterable[Attribute], unwanted: Collection[str] = ()) -> Strategy:
    """Return how to use these attributes (App. E.3): likes to include, and a tie breaker.

    No other line takes the place of an `unwanted` one, which a statement avoids, so that the document never exceeds the
    size that the merge has reserved.
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
