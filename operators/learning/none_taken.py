"""Taking none as a candidate, so that approvals, rejections and abstentions teach.

A list of one is compared with taking none, which has the domain's usual numbers and no facts. A longer list has this
candidate only if the person left it as a whole: among its items, the choice does not show how often they leave.
"""

import math
from collections.abc import Mapping
from typing import Final

from schemas import ONE, Abstention, Contrast, Features, ItemFacts
from schemas.weights import UsualNumbers

# The number by which taking none differs from any item: its weight is how picky a domain and a person are.
NOTHING: Final = "nothing"
NONE_ID: Final = "none"


def with_none(item: ItemFacts, usual: UsualNumbers) -> tuple[ItemFacts, ItemFacts]:
    """Return a list of one as the two candidates that a person has.

    >>> shown, none = with_none(ItemFacts(item_id="a", measures={"price": 30}), {"price": (20.0, 16.0)})
    >>> shown.measures, none.measures
    ({'price': 30.0, 'nothing': 0.0}, {'price': 20.0, 'nothing': 1.0})
    """
    shown = item.model_copy(update={"measures": {**item.measures, NOTHING: 0.0}})
    return shown, _none(usual, {NOTHING: 1.0})


def as_choice(event: Contrast | Abstention) -> Contrast:
    """Return an event as a choice: approvals, rejections and lists left as a whole get none as a candidate."""
    usual = event.usual or {}
    if isinstance(event, Contrast):
        if event.unchosen or event.also:
            return event
        shown, none = with_none(event.chosen, usual)
        return event.model_copy(update={"chosen": shown, "unchosen": (none,), "features": _of_one(event)})
    features = event.features
    if len(event.shown) == 1:
        shown, none = with_none(event.shown[0], usual)
        left: tuple[ItemFacts, ...] = (shown,)
        features = _of_one(event)
    else:
        left, none = event.shown, _none(usual, {})
        if features is not None:
            # How often this person leaves a longer list is unknown: half of the evidence of a choice.
            halves = tuple([chance // 2 for chance in features.chances])
            features = features.model_copy(update={"chances": (*halves, ONE - sum(halves)), "mix": {}})
    return Contrast.trusted(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        user_id=event.user_id,
        domain=event.domain,
        ranking_id=event.ranking_id,
        instruction=event.instruction,
        chosen=none,
        chosen_rank=len(left) + 1,
        unchosen=left[::-1],
        features=features,
        usual=event.usual,
    )


def approval_rate(picky: float) -> float:
    """Return how often a person with this weight of `nothing` takes a list of one, whatever the item.

    >>> approval_rate(-1.0)
    0.88
    """
    # The two candidates lie one unit below and above the mean.
    return round(1 / (1 + math.exp(2 * picky)), 2)


def _of_one(event: Contrast | Abstention) -> Features | None:
    # A longer list of which only one item is readable was not compared with none.
    return event.features if event.features is not None and NOTHING in event.features.numbers else None


def _none(usual: UsualNumbers, measures: Mapping[str, float]) -> ItemFacts:
    means = {name: mean for name, (mean, _) in usual.items()}
    return ItemFacts.trusted(item_id=NONE_ID, measures={**means, **measures})
