"""What a play comes to: success, recovery after a shift, and how far chances can be relied on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluation.feedback.play import Pass, Played, Turn
from evaluation.feedback.scenarios import TESTS

BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
RUN = 3
"""So many choices in a row, over everybody, tell how somebody is served at a time."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of about the same chance.

    Attributes:
        low, high: the chances.
        predicted: their mean.
        came: the share that came true.
        cases: how many there were.
    """

    low: float
    high: float
    predicted: float
    came: float
    cases: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """How soon a shift is made good.

    Attributes:
        before: the share right in the last pass before the shift.
        after: how many choices of a person it takes until as many are right again, over everybody; None: it never is.
        dropped: the share right in the first choices after the shift.
    """

    before: float
    after: int | None
    dropped: float


def bins(told: Iterable[tuple[float, bool]]) -> list[Bin]:
    """The chances that were told and whether it came true, in tenths.

    >>> [(found.low, found.cases, found.came) for found in bins([(0.95, True), (1.0, False), (0.1, False)])]
    [(0.1, 1, 0.0), (0.9, 2, 0.5)]
    """
    pairs = list(told)
    found = []
    for low, high in pairwise(BINS):
        held = [pair for pair in pairs if low <= pair[0] < high or (high == BINS[-1] and pair[0] >= high)]
        if held:
            mean = sum(chance for chance, _ in held) / len(held)
            found.append(Bin(low, high, mean, sum(came for _, came in held) / len(held), len(held)))
    return found


def of_candidates(turns: Iterable[Turn]) -> list[Bin]:
    """The chance of each candidate against whether the person would accept it."""
    return bins(
        pair
        for turn in turns
        if turn.offer.fit is not None
        for pair in zip(turn.offer.fit.chances, turn.accepts, strict=True)
    )


def of_nothing(turns: Iterable[Turn]) -> list[Bin]:
    """The chance that none suits against whether none did."""
    return bins((turn.offer.fit.nothing, turn.scenario.answer is None) for turn in turns if turn.offer.fit is not None)


def expected_error(found: Sequence[Bin]) -> float:
    """By how much chances are off, on average over the cases."""
    cases = sum(each.cases for each in found)
    return sum(each.cases * abs(each.predicted - each.came) for each in found) / cases if cases else 0.0


def all_turns(played: Played) -> list[Turn]:
    """Everything that was offered in learning and in the tests."""
    return [turn for each in played.passes for turn in (*each.turns, *each.test)]


def recovery(played: Played) -> Recovery | None:
    """How soon the shift between the phases is made good; None where only one was played."""
    phases = [played.of(phase) for phase in TESTS if played.of(phase)]
    if len(phases) < 2:
        return None
    before, after = phases[0][-1].right, _by_choice(phases[1])
    windows = [after[at : at + RUN] for at in range(max(1, len(after) - RUN + 1))]
    shares = [sum(map(sum, window)) / max(1, sum(map(len, window))) for window in windows]
    again = next((at for at, share in enumerate(shares) if share >= before), None)
    return Recovery(before, again, shares[0])


def _by_choice(passes: Sequence[Pass]) -> list[list[bool]]:
    """Of each person's first, second, ... choice, which were right."""
    rights: dict[tuple[str, str], list[bool]] = {}
    for each in passes:
        for turn in each.turns:
            rights.setdefault(turn.scenario.person, []).append(turn.is_right)
    longest = max(map(len, rights.values()), default=0)
    return [[held[at] for held in rights.values() if at < len(held)] for at in range(longest)]
