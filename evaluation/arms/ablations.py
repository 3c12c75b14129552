"""SAGER with one part left out or put otherwise at a time (paper 3.4, Table 4, Table 5 and Figure 7)."""

import random
from collections.abc import Sequence

from evaluation.arms.arm import Progress
from evaluation.arms.options import ArmOptions
from evaluation.arms.sager import Parts, Sager, Situation
from evaluation.case import Split
from operators.rank import Score, facet_weights, rank
from schemas import ItemFacts

REFERENCE = 20
"""With so many items of the catalogue a candidate is compared; the same for everybody."""


class Pointwise(Sager):
    """Judges each candidate by itself: it stands among the same items of the catalogue, never among the others.

    So neither what is distinctive nor what is much comes from the list. A model's grades also tie, which is what the
    paper measures; a sum of real numbers does not, so that only the loss of the list shows here.
    """

    async def train(self, split: Split, progress: Progress) -> None:
        """As SAGER, with the items drawn first."""
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
        """A candidate's score, which no other candidate changes."""
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
    """Each choice writes the skill anew."""
    return Sager(Parts("sager-replace", replace=True), options)


def pointwise(options: ArmOptions) -> Sager:
    """Candidates are judged one by one."""
    return Pointwise(Parts("sager-pointwise"), options)


def no_statinit(options: ArmOptions) -> Sager:
    """Skills start from nothing."""
    return Sager(Parts("sager-no-statinit", statinit=False), options)


def no_collaborative(options: ArmOptions) -> Sager:
    """The skill alone: nothing of the community."""
    return Sager(Parts("sager-no-collaborative", retrieve=False), options)


def no_propagate(options: ArmOptions) -> Sager:
    """Only the user's own memory is read."""
    return Sager(Parts("sager-no-propagate", propagate=False), options)


def slim_only(options: ArmOptions) -> Sager:
    """The lines of the slim skill rank, and no others."""
    return Sager(Parts("sager-slim", slim=True), options)
