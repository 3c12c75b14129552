"""Contrast (paper 2.5): join rankings with selections, in any order of arrival.

Rankings and selections wait for each other in bounded rings, which are split into slots by the ranking's id so that
each event writes only its slot. The first answer to a ranking stands: the same one again is a repeat, another one is
refused. Unreadable items are left out of the contrast; a choice of unreadable items only ends a ranking.

Either topic may run ahead of the other: callers hold back an event whose step `overflows` a ring while the other topic
has earlier records.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import log2
from typing import Any

from operators.admission import abstention_id, contrast_id, is_applied, with_applied
from schemas import Candidate, Features, ItemFacts, Position, Receipt, derived_id, encode
from schemas.events import Abstention, Contrast, Injected, RankedBy, Ranking, Selection
from schemas.state import AnsweredRanking, OpenRanking, OpenRankings, OptOut, WaitingSelection
from schemas.weights import UsualNumbers


class Arm(StrEnum):
    """The arm of a ranking that names none."""

    NO_SKILL = "no-skill"
    # A skill that no choice has changed yet.
    PRIOR = "prior"
    # A skill that choices have changed.
    EVOLVED = "evolved"


def arm_of(injected: Injected) -> str:
    """Return the ranking's arm, or the one that its skill implies.

    >>> arm_of(Injected()), arm_of(Injected(skill_version=3, slim_skill="likes: noir")), arm_of(Injected(arm="b"))
    ('no-skill', 'evolved', 'b')
    """
    if injected.arm is not None:
        return injected.arm
    if not injected.slim_skill:
        return Arm.NO_SKILL.value
    return (Arm.EVOLVED if injected.skill_version else Arm.PRIOR).value


def ndcg_gain(rank: int, at: int) -> float:
    """Return NDCG@`at` of one relevant item at place `rank` (paper 3.1).

    >>> ndcg_gain(1, at=5), ndcg_gain(3, at=5), ndcg_gain(6, at=5)
    (1.0, 0.5, 0.0)
    """
    return 1 / log2(rank + 1) if rank <= at else 0.0


class ContrastOutcome(StrEnum):
    """The outcome of a ranking or a selection, as a metric label."""

    OPENED = "opened"
    MATCHED = "matched"
    ABSTAINED = "abstained"
    WAITING = "waiting"
    REPEATED = "repeated"
    NOT_IN_RANKING = "not-in-ranking"
    ALREADY_ANSWERED = "already-answered"
    NO_RANKING = "no-ranking"
    NOT_REMEMBERED = OptOut.NOT_REMEMBERED.value
    FOR_ANOTHER = OptOut.FOR_ANOTHER.value
    UNREADABLE = "unreadable"
    FORGOTTEN = "forgotten"

    @property
    def refused(self) -> bool:
        """True if the selection becomes a dead letter."""
        return self in (ContrastOutcome.NOT_IN_RANKING, ContrastOutcome.ALREADY_ANSWERED, ContrastOutcome.NO_RANKING)


SLOTS = 8


@dataclass(frozen=True)
class RingLimits:
    """Capacity of one slot's rings (invariant 4); a user has `SLOTS` slots.

    `size_bytes` bounds the open rankings, except for the newest: sixteen rankings of a hundred items would exceed the
    size of a changelog record, and the write would never succeed.
    """

    rankings: int = 16
    waiting: int = 32
    answered: int = 16
    size_bytes: int = 1024 * 1024


@dataclass(frozen=True)
class ContrastEffects:
    """The rings after an event, with completed and refused records."""

    state: OpenRankings
    outcome: ContrastOutcome
    contrast: Contrast | None = None
    abstention: Abstention | None = None
    refused: tuple[tuple[WaitingSelection, ContrastOutcome], ...] = ()
    # Rankings that dropped out of the ring without a selection.
    expired: int = 0
    # False for an erased or repeated event: nothing is to be sent or written.
    is_new: bool = True

    @property
    def overflows(self) -> bool:
        """True if a full ring drops an entry that may still match."""
        return self.expired > 0 or any(outcome is ContrastOutcome.NO_RANKING for _, outcome in self.refused)


def reverse_rank(candidates: Sequence[ItemFacts], *taken: str) -> tuple[ItemFacts, ...]:
    """Return the unchosen items, lowest ranked first: near-misses come last (paper 2.5).

    >>> [i.item_id for i in reverse_rank([ItemFacts(item_id=i) for i in "abcd"], "b")]
    ['d', 'c', 'a']
    """
    return tuple(item for item in reversed(candidates) if item.item_id not in taken)


def with_usual(answer: Contrast | Abstention, usual: UsualNumbers) -> Contrast | Abstention:
    """Add the domain's usual numbers to an answer that is compared with taking none."""
    if isinstance(answer, Contrast) and (answer.unchosen or answer.also):
        return answer
    items = answer.shown if isinstance(answer, Abstention) else (answer.chosen,)
    names = {name for item in items for name in item.measures} & usual.keys()
    return answer.model_copy(update={"usual": {name: usual[name] for name in sorted(names)}}) if names else answer


@lru_cache(maxsize=4_096)
def slot_of(ranking_id: str) -> int:
    """Return the slot that a ranking and its selection share."""
    return int(derived_id("slot", ranking_id), 16) % SLOTS


def join_ranking(
    state: OpenRankings | None,
    ranking: Ranking,
    facts_of: Callable[[Candidate], ItemFacts],
    source: Position,
    limits: RingLimits = RingLimits(),
    wish: OptOut | None = None,
    receipt: Receipt | None = None,
) -> ContrastEffects:
    """Match a ranking with a waiting selection, or open it.

    With a wish there will be no contrast, and only the ids wait for the selection. The receipt has the user's erasures.
    """
    state = state or OpenRankings(user_id=ranking.user_id, slot=slot_of(ranking.ranking_id))
    if (ignored := _ignored(state, ranking, ranking.domain, source, receipt)) is not None:
        return ignored
    fenced = state.model_copy(update={"applied": with_applied(state.applied, source, ranking.occurred_at)})
    if _answer(state, ranking.ranking_id) or any(r.ranking_id == ranking.ranking_id for r in state.rankings):
        return ContrastEffects(fenced, ContrastOutcome.REPEATED)
    opened = OpenRanking.trusted(
        ranking_id=ranking.ranking_id,
        domain=ranking.domain,
        instruction="" if wish else ranking.instruction,
        candidates=tuple(ItemFacts(item_id=c.item_id) if wish else facts_of(c) for c in ranking.candidates),
        skill_version=ranking.injected.skill_version,
        arm=arm_of(ranking.injected),
        opt_out=wish,
        facets=() if wish else ranking.injected.facets,
        features=None if wish else _features(ranking),
        by_sager=ranking.ranked_by is RankedBy.SAGER,
        session_id=None if wish else ranking.session_id,
    )
    waiting = next((w for w in state.waiting if w.selection.ranking_id == ranking.ranking_id), None)
    if waiting is not None:
        others = tuple(w for w in state.waiting if w.selection.ranking_id != ranking.ranking_id)
        step = _match(fenced.model_copy(update={"waiting": others}), opened, waiting, limits)
        if not step.outcome.refused:
            return step
        # The selection names an item that was never shown; the ranking stays open.
        reopened = _with_ranking(step.state, opened, limits)
        return replace(reopened, outcome=ContrastOutcome.OPENED, refused=((waiting, step.outcome),))
    return _with_ranking(fenced, opened, limits)


def _ignored(
    state: OpenRankings, event: Ranking | Selection, domain: str | None, source: Position, receipt: Receipt | None
) -> ContrastEffects | None:
    if receipt is not None and receipt.covers(domain, event.occurred_at, source.moment):
        return ContrastEffects(state, ContrastOutcome.FORGOTTEN, is_new=False)
    if is_applied(state.applied, source):
        return ContrastEffects(state, ContrastOutcome.REPEATED, is_new=False)
    return None


def _features(ranking: Ranking) -> Features | None:
    # Only for our own rankings: our weights did not order an app's own.
    features = ranking.injected.features if ranking.ranked_by is RankedBy.SAGER else None
    return features if features is not None and len(features.chances) == max(2, len(ranking.candidates)) else None


def _with_ranking(state: OpenRankings, opened: OpenRanking, limits: RingLimits) -> ContrastEffects:
    rankings = (*state.rankings, opened)
    kept = rankings[-limits.rankings :]
    if len(kept) > 1:  # most rankings are answered before their slot gets another one, and need no size
        kept = tuple(r if r.size_bytes else r.model_copy(update={"size_bytes": len(encode(r))}) for r in kept)
    while len(kept) > 1 and sum(ranking.size_bytes for ranking in kept) > limits.size_bytes:
        kept = kept[1:]
    return ContrastEffects(
        state.model_copy(update={"rankings": kept}), ContrastOutcome.OPENED, expired=len(rankings) - len(kept)
    )


def join_selection(
    state: OpenRankings | None,
    selection: Selection,
    source: Position,
    limits: RingLimits = RingLimits(),
    receipt: Receipt | None = None,
) -> ContrastEffects:
    """Match a selection with its ranking, or keep it waiting."""
    state = state or OpenRankings(user_id=selection.user_id, slot=slot_of(selection.ranking_id))
    if (ignored := _ignored(state, selection, None, source, receipt)) is not None:
        return ignored
    fenced = state.model_copy(update={"applied": with_applied(state.applied, source, selection.occurred_at)})
    arrived = WaitingSelection.trusted(selection=selection, source=source)
    name = selection.ranking_id
    first: AnsweredRanking | Selection | None = _answer(state, name)
    ranking = next((r for r in state.rankings if r.ranking_id == name), None)
    if first is None and ranking is not None:
        step = _match(fenced, ranking, arrived, limits)
        return replace(step, refused=((arrived, step.outcome),)) if step.outcome.refused else step
    first = first or next((w.selection for w in state.waiting if w.selection.ranking_id == name), None)
    if first is not None:
        # The same items, in whatever order, are the same answer.
        if {first.item_id, *first.others} == {selection.item_id, *selection.others}:
            return ContrastEffects(fenced, ContrastOutcome.REPEATED)
        return ContrastEffects(
            fenced, ContrastOutcome.ALREADY_ANSWERED, refused=((arrived, ContrastOutcome.ALREADY_ANSWERED),)
        )
    waiting = (*state.waiting, arrived)
    dropped, kept = waiting[: -limits.waiting], waiting[-limits.waiting :]
    return ContrastEffects(
        fenced.model_copy(update={"waiting": kept}),
        ContrastOutcome.WAITING,
        refused=tuple((gone, ContrastOutcome.NO_RANKING) for gone in dropped),
    )


def _answer(state: OpenRankings, ranking_id: str) -> AnsweredRanking | None:
    return next((a for a in state.answered if a.ranking_id == ranking_id), None)


def _match(state: OpenRankings, ranking: OpenRanking, waiting: WaitingSelection, limits: RingLimits) -> ContrastEffects:
    selection = waiting.selection
    all_taken = selection.taken
    shown = {item.item_id: item for item in ranking.candidates}
    if not shown.keys() >= set(all_taken):
        return ContrastEffects(state, ContrastOutcome.NOT_IN_RANKING)
    named = {"ranking_id": ranking.ranking_id, "domain": ranking.domain}
    answer = AnsweredRanking.trusted(**named, item_id=selection.item_id, others=selection.others)
    settled = state.model_copy(
        update={
            "rankings": tuple(r for r in state.rankings if r.ranking_id != ranking.ranking_id),
            "answered": (*state.answered, answer)[-limits.answered :],
        }
    )
    if ranking.opt_out is not None:
        return ContrastEffects(settled, ContrastOutcome(ranking.opt_out.value))
    readable = tuple(item for item in ranking.candidates if not item.unreadable)
    taken = [name for name in all_taken if not shown[name].unreadable]
    if not (taken or (readable and selection.item_id is None)):
        return ContrastEffects(settled, ContrastOutcome.UNREADABLE)
    about: dict[str, Any] = {
        "occurred_at": selection.occurred_at,
        "user_id": state.user_id,
        "domain": ranking.domain,
        "ranking_id": ranking.ranking_id,
        "instruction": ranking.instruction,
        "skill_version": ranking.skill_version if selection.skill_version is None else selection.skill_version,
        "arm": ranking.arm,
        "session_id": selection.session_id or ranking.session_id,
    }
    if selection.item_id is None:
        name = abstention_id(state.user_id, ranking.ranking_id)
        shown_items = tuple(item.model_copy(update={"excerpt": ""}) if item.excerpt else item for item in readable)
        abstention = Abstention(event_id=name, shown=shown_items, features=ranking.features, **about)
        return ContrastEffects(settled, ContrastOutcome.ABSTAINED, abstention=abstention)
    names = [item.item_id for item in ranking.candidates]
    chosen, *others = taken
    contrast = Contrast.trusted(
        event_id=contrast_id(state.user_id, ranking.ranking_id),
        chosen=shown[chosen],
        chosen_rank=names.index(chosen) + 1,
        also=tuple(shown[name] for name in others),
        in_order=selection.in_order and bool(others),
        unchosen=reverse_rank(readable, *taken),
        facets=ranking.facets,
        features=ranking.features,
        by_sager=ranking.by_sager,
        **about,
    )
    return ContrastEffects(settled, ContrastOutcome.MATCHED, contrast=contrast)
