"""SAGER with one part left out or changed at a time (paper 3.4, Table 4, Table 5 and Figure 7)."""

import random
from collections.abc import Sequence

from evaluation.arms.arm import Progress
from evaluation.arms.options import ArmOptions
from evaluation.arms.sager import Parts, Sager, Situation
from evaluation.case import Split
from operators.rank import Score, facet_weights, rank
from schemas import ItemFacts

REFERENCE = 20
"""How many items of the catalogue a candidate is compared with; the same ones for everybody."""


class Pointwise(Sager):
    """Judges each candidate by itself, among the same items of the catalogue and never among the other candidates.

    The list thus contributes neither distinctiveness nor frequency. A model's grades also tie, which the paper
    measures; sums of real numbers do not, so that only the loss of the list shows here.
    """

    async def train(self, split: Split, progress: Progress) -> None:
        """Trains like SAGER, after drawing the items."""
        pool = sorted(split.items)
        drawn = random.Random(f"{self._options.seed}/pointwise").sample(pool, min(REFERENCE, len(pool)))
        self._reference = [split.facts[item_id] for item_id in drawn]
        await super().train(split, progress)

    async def _order(self, now: Situation, items: Sequence[ItemFacts], instruction: str, seed: str) -> tuple[str, ...]:
        scores = {item.item_id: self.alone(now, item, instruction) for item in items}
        order = list(scores)
        random.Random(seed).shuffle(order)
        order.sort(key=lambda name: scores[name].best_first)
        return tuple(order)

    def alone(self, now: Situation, item: ItemFacts, instruction: str) -> Score:
        """A candidate's score, independent of the other candidates."""
        others = [other for other in self._reference if other.item_id != item.item_id]
        ranked = rank(
            [item, *others],
            self._lines(now.skill, instruction),
            instruction,
            facet_weights(now.context.facets),
            companions=now.context.companions,
            popularity=now.popularity,
            weights=self.weights,
        )
        return next(score for each, score in ranked if each.item_id == item.item_id)


def replaced(options: ArmOptions) -> Sager:
    """Each choice rewrites the skill."""
    return Sager(Parts("sager-replace", replace=True), options)


def pointwise(options: ArmOptions) -> Sager:
    """Candidates are judged one by one."""
    return Pointwise(Parts("sager-pointwise"), options)


def no_statinit(options: ArmOptions) -> Sager:
    """Skills start from nothing."""
    return Sager(Parts("sager-no-statinit", statinit=False), options)


def no_collaborative(options: ArmOptions) -> Sager:
    """The skill alone, without the community."""
    return Sager(Parts("sager-no-collaborative", retrieve=False), options)


def no_propagate(options: ArmOptions) -> Sager:
    """Only the user's own memory is read."""
    return Sager(Parts("sager-no-propagate", propagate=False), options)


def slim_only(options: ArmOptions) -> Sager:
    """The lines of the slim skill rank, and no others."""
    return Sager(Parts("sager-slim", slim=True), options)
