"""Who is shown scenarios and told replies: an interface, and the learner that only remembers, as a yardstick."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Protocol

from evaluation.feedback.person import Kind, Reply
from evaluation.feedback.scenarios import Scenario
from schemas import Directive, Fit, Question

EXPLORES = 0.1
"""While it learns, a learner offers what has a better chance than this: whoever offers nothing is told little."""
EXPLOITS = 0.6


@dataclass(frozen=True, slots=True)
class Offer:
    """What a learner would do.

    Attributes:
        action: the item that it offers; None: none of them.
        order: all items' ids, best first.
        fit: what is told of how well they suit; None: nothing.
        ranking_id: of the ranking, where there is one.
    """

    action: str | None
    order: tuple[str, ...]
    fit: Fit | None = None
    ranking_id: str = ""

    @property
    def question(self) -> Question | None:
        """What it would ask first."""
        return None if self.fit is None else self.fit.question


class Learner(Protocol):
    """Learns from replies; knows of a scenario only what the person is shown."""

    async def offer(self, scenario: Scenario, *, explores: bool, asks: bool = False) -> Offer:
        """What it would offer; while it `explores`, something rather than nothing."""
        ...

    async def hear(self, scenario: Scenario, offer: Offer, reply: Reply) -> None:
        """Learns from what the person says to an offer."""
        ...

    async def told(self, scenario: Scenario, question: Question, says: tuple[Directive, ...]) -> None:
        """Learns from the answer to a question."""
        ...


@dataclass
class Remembers:
    """Remembers features that were taken and features that were refused, and knows no more than that."""

    liked: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    refused: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    wanted: Counter[tuple[tuple[str, str], tuple[str, str]]] = field(default_factory=Counter)

    async def offer(self, scenario: Scenario, *, explores: bool, asks: bool = False) -> Offer:
        """Offers what has the best chance: a half for each feature that it knows nothing of."""
        scored = []
        for item in scenario.items:
            chance, wanted = 1.0, 0
            for name, value in item.metadata.items():
                feature = (name, str(value))
                refused, liked = self.refused[scenario.person], self.liked[scenario.person]
                chance *= 0.0 if feature in refused else 1.0 if feature in liked else 0.5
                wanted += self.wanted[scenario.person, feature]
            scored.append((chance, wanted, item.item_id))
        scored.sort(key=lambda each: (-each[0], -each[1]))
        least = EXPLORES if explores else EXPLOITS
        action = scored[0][2] if scored[0][0] > least else None
        return Offer(action, tuple(item_id for _, _, item_id in scored))

    async def hear(self, scenario: Scenario, offer: Offer, reply: Reply) -> None:
        """Remembers the features of what suits, and the named ones of what does not."""
        suits = {*reply.suits, *((reply.item_id,) if reply.kind is Kind.ACCEPTED and reply.item_id else ())}
        for item_id in suits:
            features = {(name, str(value)) for name, value in scenario.item(item_id).metadata.items()}
            self.liked[scenario.person] |= features
            self.refused[scenario.person] -= features
        await self.told(scenario, None, reply.says)

    async def told(self, scenario: Scenario, question: Question | None, says: tuple[Directive, ...]) -> None:
        """Remembers what was said of features."""
        for said in says:
            if said.dimension is None or said.value is None:
                continue
            feature = (said.dimension, said.value)
            if said.stance == "avoids":
                self.refused[scenario.person].add(feature)
                self.liked[scenario.person].discard(feature)
            else:
                self.wanted[scenario.person, feature] += 1
