"""The form and length of a skill's document (paper 2.3, E.3)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

from schemas import AttributeKind, Strategy, Tier
from schemas.skills import Attribute

SECTIONS = {
    AttributeKind.PREFERENCE: "Core preferences",
    AttributeKind.PATTERN: "Behavioral patterns",
    AttributeKind.CRITERION: "Ranking criteria",
}
MAX_VALUE_CHARS = 60
_PINNED = ", pinned"
_PINNED_CHARS = len(_PINNED)
_HEADING_CHARS = len("## \n")
# The length of a line without its words, by the tier's number.
_TIER_CHARS = tuple(len(f"-  (, {tier})\n") for tier in sorted(Tier))
MUST_INCLUDE = 3
_MEDIUM, _PREFERENCE, _CRITERION = Tier.MEDIUM, AttributeKind.PREFERENCE, AttributeKind.CRITERION
_NO_OVERRIDES: Mapping[str, Tier] = {}
_BY_CONFIDENCE = itemgetter(0, 1, 2)


@lru_cache(maxsize=16_384)
def clip(text: str, most: int = MAX_VALUE_CHARS) -> str:
    """Clip a text to one line of at most this many characters.

    >>> clip("a  long story", 7)
    'a long…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def format_line(attribute: Attribute) -> str:
    """Write one attribute as a line."""
    pinned = _PINNED if attribute.pinned else ""
    return f"- {clip(attribute.value)} ({attribute.dimension}, {attribute.tier}{pinned})"


def document_length(
    attributes: Sequence[Attribute], strategy: Strategy, tiers: Mapping[str, Tier] = _NO_OVERRIDES
) -> int:
    """Return the length of the document of these attributes, without writing it."""
    length, kinds = 0, set()
    for line in attributes:
        tier = tiers.get(line.attribute_id, line.tier)
        if tier:
            length += len(clip(line.value)) + len(line.dimension) + _TIER_CHARS[tier]
            length += _PINNED_CHARS if line.pinned else 0
            kinds.add(line.kind)
    for kind in kinds:
        length += len(SECTIONS[kind]) + _HEADING_CHARS
    if strategy.must_include:
        length += len(_strategy_lines(strategy)) + 1
    # Each line and each heading ends with a line break, but for the last.
    return max(0, length - 1)


def fits_document(attributes: Sequence[Attribute], most: int, tiers: Mapping[str, Tier] = _NO_OVERRIDES) -> bool:
    """True for a document of at most `most` characters; `tiers` override."""
    return document_length(attributes, strategy_of(attributes, tiers=tiers), tiers) <= most


def _strategy_lines(strategy: Strategy) -> str:
    lines = ["## Strategy", f"- must include: {', '.join(clip(v, 30) for v in strategy.must_include)}"]
    if strategy.tie_breaker:
        lines.append(f"- tie breaker: {clip(strategy.tie_breaker, 70)}")
    return "\n".join(lines)


def strategy_of(
    attributes: Iterable[Attribute], unwanted: Collection[str] = (), tiers: Mapping[str, Tier] = _NO_OVERRIDES
) -> Strategy:
    """Return the strategy (App. E.3): likes and a tie breaker.

    No other line takes the place of an `unwanted` one, which a statement avoids, so that the document never exceeds the
    size that the merge has reserved.
    """
    sure = [
        (-tier, -line.support, line.attribute_id, line)
        for line in attributes
        if (tier := tiers.get(line.attribute_id, line.tier)) >= _MEDIUM
    ]
    sure.sort(key=_BY_CONFIDENCE)
    likes = [each[-1] for each in sure if each[-1].kind is _PREFERENCE]
    criteria = [each[-1] for each in sure if each[-1].kind is _CRITERION]
    breaks = (criteria or likes[MUST_INCLUDE:])[:1]
    included, tie_breaker = (
        tuple([a.value for a in lines if a.attribute_id not in unwanted]) for lines in (likes[:MUST_INCLUDE], breaks)
    )
    return _strategy(included, "".join(tie_breaker))


@lru_cache(maxsize=4_096)
def _strategy(must_include: tuple[str, ...], tie_breaker: str) -> Strategy:
    return Strategy(must_include=must_include, tie_breaker=tie_breaker)
