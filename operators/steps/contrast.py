"""Steps of the agent `contrast`: a ranking or a selection meets the user's open business (paper 2.5).

The join itself is `operators.contrast`; these steps put the fences before it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from operators import contrast as join
from operators.applied import is_applied
from operators.contrast import Outcome, RingLimits, Step, slot_of
from schemas import Candidate, ItemFacts, OpenRankings, Position, Ranking, Receipt, Selection, Wish


@dataclass(frozen=True)
class State:
    """What is known when a ranking or a selection comes.

    Attributes:
        rings: the slot of the user's rings in which both meet; None: nothing is open.
        receipt: what of this person was forgotten.
    """

    rings: OpenRankings | None = None
    receipt: Receipt | None = None


def on_ranking(
    state: State,
    ranking: Ranking,
    facts_of: Callable[[Candidate], ItemFacts],
    source: Position,
    limits: RingLimits,
    wish: Wish | None = None,
) -> Step | Outcome:
    """A ranking was shown. Only its outcome where there is nothing to apply: it is forgotten or repeated."""
    held = _open(state, ranking, ranking.domain, source)
    return held if isinstance(held, Outcome) else join.on_ranking(held, ranking, facts_of, source, limits, wish)


def on_selection(state: State, selection: Selection, source: Position, limits: RingLimits) -> Step | Outcome:
    """The user chose. Only its outcome where there is nothing to apply: it is forgotten or repeated."""
    held = _open(state, selection, None, source)
    return held if isinstance(held, Outcome) else join.on_selection(held, selection, source, limits)


def _open(state: State, event: Ranking | Selection, domain: str | None, source: Position) -> OpenRankings | Outcome:
    """The rings that an event meets, unless it is not to be met."""
    if state.receipt is not None and state.receipt.covers(domain, event.occurred_at, source.moment):
        return Outcome.FORGOTTEN
    if state.rings is None:
        return OpenRankings(user_id=event.user_id, slot=slot_of(event.ranking_id))
    return Outcome.REPEATED if is_applied(state.rings.applied, source) else state.rings
