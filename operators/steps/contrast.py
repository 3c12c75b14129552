"""Steps of the agent `contrast`: the fences before the join of rankings and selections (paper 2.5)."""

from collections.abc import Callable
from dataclasses import dataclass

from operators import contrast as join
from operators.applied import is_applied
from operators.contrast import Outcome, RingLimits, Step, slot_of
from schemas import Candidate, ItemFacts, OpenRankings, Position, Ranking, Receipt, Selection, Wish


@dataclass(frozen=True)
class State:
    """The slot of the user's rings in which rankings and selections meet, and the receipt of erasures."""

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
    """Join a ranking; returns the outcome alone if it is erased or a repeat."""
    held = _open(state, ranking, ranking.domain, source)
    return held if isinstance(held, Outcome) else join.on_ranking(held, ranking, facts_of, source, limits, wish)


def on_selection(state: State, selection: Selection, source: Position, limits: RingLimits) -> Step | Outcome:
    """Join a selection; returns the outcome alone if it is erased or a repeat."""
    held = _open(state, selection, None, source)
    return held if isinstance(held, Outcome) else join.on_selection(held, selection, source, limits)


def _open(state: State, event: Ranking | Selection, domain: str | None, source: Position) -> OpenRankings | Outcome:
    if state.receipt is not None and state.receipt.covers(domain, event.occurred_at, source.moment):
        return Outcome.FORGOTTEN
    if state.rings is None:
        return OpenRankings(user_id=event.user_id, slot=slot_of(event.ranking_id))
    return Outcome.REPEATED if is_applied(state.rings.applied, source) else state.rings
