"""Plays the protocol: passes of learning over a phase, a test after each, then the same after tastes have shifted."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from evaluation.feedback.learners import Learner, Offer
from evaluation.feedback.person import answered, reply
from evaluation.feedback.scenarios import LEARNING, ORIGINAL, SHIFTED, TESTS, Scenario, Scenarios

Tell = Callable[[str, int, int], object]
"""Receives progress: the stage, how much is done, and how much there is."""
_EVERY = 50


@dataclass(frozen=True, slots=True)
class Turn:
    """One scenario as it went.

    Attributes:
        scenario: what was shown.
        offer: what was offered, after the answer to a question if one was asked.
        accepts: of each item in the offer's order, whether the person would accept it.
        asked: a question was asked first.
        would: whether the offer before the question was right; as `is_right` where none was asked.
    """

    scenario: Scenario
    offer: Offer
    accepts: tuple[bool, ...]
    asked: bool = False
    would: bool = False

    @property
    def is_right(self) -> bool:
        """Whether the offer was the person's answer."""
        return self.offer.action == self.scenario.answer


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over a phase, and the test after it.

    Attributes:
        phase: that is learned from.
        number: from 1.
        turns: the scenarios, in order.
        test: those of the test.
    """

    phase: int
    number: int
    turns: tuple[Turn, ...]
    test: tuple[Turn, ...]

    @property
    def right(self) -> float:
        """The share of right offers while it learned."""
        return share_right(self.turns)

    @property
    def success(self) -> float:
        """The share of right offers in the test."""
        return share_right(self.test)


@dataclass
class Played:
    """What came of a play: the passes, in order, and each test before anything of its phase was learned."""

    passes: list[Pass] = field(default_factory=list)
    before: dict[int, float] = field(default_factory=dict)

    def of(self, phase: int) -> list[Pass]:
        """The passes over a phase."""
        return [each for each in self.passes if each.phase == phase]


def share_right(turns: Sequence[Turn]) -> float:
    """The share of turns with the right offer; 0 of none."""
    return sum(turn.is_right for turn in turns) / len(turns) if turns else 0.0


class Play:
    """One play.

    Args:
        scenarios: what is played.
        learner: who learns.
        passes: how often each phase is gone through.
        asks: one question is allowed per scenario while learning.
        phases: the learning phases; by default both.
        aside: what else happens before each scenario of a phase's first pass.
    """

    def __init__(
        self,
        scenarios: Scenarios,
        learner: Learner,
        passes: int = 3,
        *,
        asks: bool = False,
        phases: Sequence[int] = tuple(LEARNING),
        aside: Callable[[Scenario], Awaitable[None]] | None = None,
    ) -> None:
        self._scenarios, self._learner = scenarios, learner
        self._passes, self._asks, self._phases, self._aside = passes, asks, phases, aside

    async def run(self, tell: Tell = lambda *_: None) -> Played:
        """Plays all passes."""
        played = Played()
        for phase in self._phases:
            played.before[TESTS[phase]] = share_right(await self._test(phase))
            for number in range(1, self._passes + 1):
                turns = []
                todo = self._scenarios.phases[phase]
                for done, scenario in enumerate(todo):
                    if not done % _EVERY:
                        tell(f"phase {phase}, pass {number}", done, len(todo))
                    if self._aside is not None and number == 1:
                        await self._aside(scenario)
                    turns.append(await self._turn(scenario, LEARNING[phase]))
                tell(f"phase {phase}, pass {number}", len(todo), len(todo))
                played.passes.append(Pass(phase, number, tuple(turns), tuple(await self._test(phase))))
        return played

    async def _test(self, phase: int) -> list[Turn]:
        """The phase's test, in which nothing is learned."""
        era, found = LEARNING[phase], self._scenarios.phases[TESTS[phase]]
        return [self._told(each, await self._learner.offer(each, explores=False), era) for each in found]

    async def _turn(self, scenario: Scenario, era: str) -> Turn:
        taste = self._scenarios.taste(scenario, era)
        before = self._scenarios.taste(scenario, ORIGINAL) if era == SHIFTED else None
        offer = await self._learner.offer(scenario, explores=True, asks=self._asks)
        would = offer.action == scenario.answer
        if asked := offer.question:
            await self._learner.told(scenario, asked, answered(asked, taste, _category(scenario, asked.dimension)))
            offer = await self._learner.offer(scenario, explores=True)
        await self._learner.hear(scenario, offer, reply(scenario, taste, before, offer.action))
        return self._told(scenario, offer, era, asked=asked is not None, would=would)

    def _told(self, scenario: Scenario, offer: Offer, era: str, *, asked: bool = False, would: bool = False) -> Turn:
        taste = self._scenarios.taste(scenario, era)
        accepts = tuple(taste.accepts(scenario.item(item_id)) for item_id in offer.order)
        return Turn(scenario, offer, accepts, asked, would)


def _category(scenario: Scenario, dimension: str) -> str:
    """The feature category of the items that a dimension of their facts is read from."""
    names = list(dict.fromkeys(name for item in scenario.items for name in item.metadata))
    return next((name for name in names if _words(name) == _words(dimension)), dimension)


def _words(name: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in name.casefold()).split()
