"""What a global skill says in words: a strategy per persona, and how to decide for somebody new (App. D)."""

from collections.abc import Sequence
from dataclasses import dataclass

from operators.prompts import as_data
from operators.render import EXPLORATION
from schemas import Attribute, Kind

MAX_GUIDANCE_CHARS = 1_200
PLACES = frozenset({"area", "city"})
"""Where somebody is follows from their request, not from where the others are."""
_TASTES, _HABITS, _VALUE_CHARS = 5, 2, 40
_HABIT_SHARE = 0.05


@dataclass(frozen=True)
class DimensionWords:
    """What a domain's items are told apart by, as far as its strategies speak of it."""

    kinds: str
    local: bool
    priced: bool


def dimension_words(dimensions: set[str]) -> DimensionWords:
    """The words for a population that holds attributes of these dimensions.

    >>> dimension_words({"category", "city"})
    DimensionWords(kinds='categories', local=True, priced=False)
    """
    kinds = "genres" if "genre" in dimensions else "categories" if "category" in dimensions else "kinds"
    return DimensionWords(kinds=kinds, local=bool(PLACES & dimensions), priced="price" in dimensions)


def strategies(words: DimensionWords) -> tuple[str, str, str, str]:
    """How to decide for light, moderate, wide and narrow heavy users, each in at most 300 characters."""
    near = " and close by" if words.local else ""
    price = ", at the price level they are used to" if words.priced else ""
    further = " Other parts of town are welcome." if words.local else ""
    kinds = words.kinds
    light = f"Lean on what many users like{near}, within two or three main {kinds}; prefer the well established."
    moderate = f"A taste is forming: about 70% from {kinds} that they confirmed, 30% from neighbouring ones{price}."
    wide = f"They range widely: half from known tastes, half new or neighbouring, over five to seven {kinds}.{further}"
    narrow = f"They know what they want: about 85% from their three favourite {kinds}{price}, the rest close to these."
    return light, moderate, wide, narrow


def guidance(domain: str, users: int, held: Sequence[tuple[Attribute, float]], words: DimensionWords) -> str:
    """How to decide for somebody new, in at most 1,200 characters; empty without users.

    Args:
        domain: the domain's name.
        users: how many users it was learned from.
        held: what enough of them hold, with its share, the most shared first.
        words: what the domain's items are told apart by.
    """
    if not users:
        return ""
    tastes = [_told(a, share) for a, share in held if a.kind is not Kind.PATTERN and a.dimension not in PLACES]
    habits = [f"{_clean(a)} ({share:.0%})" for a, share in held if a.kind is Kind.PATTERN and share >= _HABIT_SHARE]
    order = ["accuracy", *(["locality"] if words.local else []), "diversity", "novelty"]
    own = (
        "What they ask for comes before all of this, and with their first choices their own taste takes over: "
        "each further choice takes a sixteenth away from what was counted before."
    )
    parts = [
        f"For somebody new in {domain}, from {users:,} users.",
        f"Most shared: {', '.join(tastes[:_TASTES])}. Put first what fits several of these."
        if tastes
        else "No taste is shared by enough users: put first what is chosen most.",
        f"Habits: {', '.join(habits[:_HABITS])}." if habits else "",
        f"Keep about {EXPLORATION:.0%} of the places for something next to these.",
        own,
        f"When in doubt: {' before '.join(order)}.",
    ]
    return " ".join(filter(None, parts))[:MAX_GUIDANCE_CHARS]


def _told(attribute: Attribute, share: float) -> str:
    return f"{_clean(attribute)} ({attribute.dimension}, {share:.0%})"


def _clean(attribute: Attribute) -> str:
    # A value is an item's words, and guidance stands in prompts.
    return as_data(attribute.value, _VALUE_CHARS)
