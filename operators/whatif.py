"""Replay a person's choices with other settings, and compare both skills.

The live side is the fold of its log; the other side learns again by the worker's own step. Before either side learns
from a choice, both rank its candidates.
"""

import math
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from operators.attributes import RankedLine, ranked_lines
from operators.contrast import ndcg_gain
from operators.evolve.proposals import ReasonerUnavailable
from operators.learning.choice_model import ListFeatures
from operators.learning.fold import merge, seeded_skill
from operators.rank.deterministic import facet_weights, rank
from operators.slim.selection import SlimSelection
from operators.steps.evolve import EvolveState, EvolveStep, Reason
from operators.weights import DEFAULT_WEIGHTS
from schemas import BadRecord, Contrast, PolicySkill, SkillCommand, SkillDiff, decode
from schemas.diffs import NumberSums

# Selects the lines of a skill that rank candidates.
Lines = Callable[[PolicySkill], Sequence[RankedLine]]
ByDomain = Callable[[str], Mapping[str, int] | None]

# The paper's measures (3.1) of a rank.
MEASURES: Final[Mapping[str, Callable[[int], float]]] = {
    "hit_at_1": lambda place: float(place <= 1),
    "hit_at_3": lambda place: float(place <= 3),  # noqa: PLR2004 - as its name says
    "hit_at_5": lambda place: float(place <= 5),  # noqa: PLR2004
    "ndcg_at_5": lambda place: ndcg_gain(place, at=5),
    "reciprocal_rank": lambda place: 1 / place,
}
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One version of the live skill, with its event if available.

    `choice` is the contrast as bytes, which take a twentieth of the decoded contrast's memory.
    """

    diff: SkillDiff
    choice: bytes | None = None
    command: SkillCommand | None = None

    @property
    def is_shared(self) -> bool:
        """True if the live diff applies to both sides unchanged."""
        return not self.diff.is_contrast and (self.diff.count_delta is not None or self.diff.trigger is not None)

    @property
    def is_missing(self) -> bool:
        """True if the event is not available."""
        return not (self.choice or self.command or self.is_shared)


@dataclass(frozen=True, slots=True)
class ReplaySeries:
    """The versions of a skill from the first available choice on."""

    start: PolicySkill
    steps: tuple[ReplayStep, ...]

    @property
    def choices(self) -> int:
        """The number of choices at which both sides are measured."""
        return sum(step.choice is not None for step in self.steps)

    @property
    def missing(self) -> int:
        """The number of versions whose event Kafka no longer has."""
        return sum(step.is_missing for step in self.steps)


def replay_series(
    diffs: Sequence[SkillDiff], choices: Mapping[str, bytes], commands: Mapping[str, SkillCommand]
) -> ReplaySeries:
    """Join a skill's log with the available events; raises OutOfOrder."""
    first = diffs[0]
    live = seeded_skill(first).model_copy(update={"applied": first.seeded_from})
    begin, steps = live, list[ReplayStep]()
    for diff in diffs:
        if diff.version <= live.version:
            continue
        choice = choices.get(diff.event_id) if diff.is_contrast else None
        live = merge(live, diff)
        if choice or steps:
            steps.append(ReplayStep(diff, choice, None if diff.is_contrast else commands.get(diff.event_id)))
        else:  # both sides share what comes before the first available choice
            begin = live
    while steps and steps[-1].is_missing:  # written after the choices were read
        steps.pop()
    return ReplaySeries(begin, tuple(steps))


@dataclass(frozen=True)
class ReplaySide:
    """The settings of the other side: step, reasoner, lines, population.

    `usual` has the population's expected shares, in 1/1024, by attribute id; `popularity`, how many users took an item.
    """

    step: EvolveStep
    reason: Reason
    lines: Lines = ranked_lines
    usual: ByDomain = lambda _: None
    popularity: ByDomain = lambda _: None


@dataclass(frozen=True, slots=True)
class ReplayMoment:
    """Both skills and diffs after one event, and its choice."""

    live: PolicySkill
    other: PolicySkill
    contrast: Contrast | None = None
    # The ranks that the live and the other skill gave the chosen item before they learned from it.
    places: tuple[int, int] = (0, 0)
    diff: SkillDiff | None = None
    # Why the other side's reasoner did not answer.
    unavailable: str = ""


async def replay(series: ReplaySeries, live_lines: Lines, side: ReplaySide) -> AsyncIterator[ReplayMoment]:
    """Replay a series on both sides; unchanged settings give equal bytes.

    A command applies to both sides. A roll-back carries its lines, so that both sides agree again after one.
    """
    live = other = series.start
    for step in series.steps:
        yield (moment := await _step(step, live, other, live_lines, side))
        live, other = moment.live, moment.other


async def _step(
    step: ReplayStep, before: PolicySkill, other: PolicySkill, live_lines: Lines, side: ReplaySide
) -> ReplayMoment:
    live, source = merge(before, step.diff), step.diff.source
    if step.is_shared:
        versions = {"base_version": other.version, "version": other.version + 1, "seed": None}
        diff = step.diff.model_copy(update=versions)
        return ReplayMoment(live, merge(other, diff), diff=diff)
    state = EvolveState(other, usual=side.usual(other.domain), popularity=side.popularity(other.domain))
    if step.command is not None:
        effects = side.step.command(state, step.command, source)
        return ReplayMoment(live, effects.skill, diff=effects.diff)
    try:
        prepared = side.step.prepare(state, decode(Contrast, step.choice), source)
    except BadRecord:
        prepared = None
    if prepared is None or (contrast := prepared.contrast) is None:
        return ReplayMoment(live, other)
    places = (
        chosen_rank(contrast, live_lines(before), before.numbers),
        chosen_rank(contrast, side.lines(other), other.numbers),
    )
    if prepared.outcome is not None:
        return ReplayMoment(live, other, contrast, places)
    try:
        answer = await side.reason(contrast, other)
    except ReasonerUnavailable as error:
        return ReplayMoment(live, other, contrast, places, unavailable=error.outcome)
    # The log has a model's selection of slim lines, so that a replay needs no call for it.
    by = step.diff.slim_by if side.step.extract_by_model else None
    selection = None if by is None else SlimSelection(live.slim_lines, by)
    effects = side.step.finish(state, contrast, answer, source, selection)
    return ReplayMoment(live, effects.skill, contrast, places, effects.diff)


def chosen_rank(contrast: Contrast, lines: Sequence[RankedLine], numbers: NumberSums | None = None) -> int:
    """Return the chosen item's rank by these lines and numbers; 1 is the top.

    The ranking's id breaks ties, which favours neither the chosen item nor the order in which the items were shown.
    """
    items = sorted((contrast.chosen, *contrast.unchosen), key=lambda item: item.item_id)
    features = ListFeatures.of(items, lines, facet_weights(contrast.facets), weights=DEFAULT_WEIGHTS, sums=numbers)
    ranked = rank(items, features, contrast.instruction, contrast.ranking_id)
    return 1 + next(n for n, (item, _) in enumerate(ranked) if item.item_id == contrast.chosen.item_id)


@dataclass(frozen=True)
class MeasureDifference:
    """One measure's mean on both sides, and users better and worse.

    `margin` is half of the 95 % interval around the difference, by users, because choices of one user are not
    independent; None with fewer than two users.
    """

    live: float
    other: float
    margin: float | None
    better: int
    worse: int

    @property
    def delta(self) -> float:
        """The other side's mean minus the live side's."""
        return self.other - self.live


def differences(choices: Sequence[tuple[str, int, int]]) -> dict[str, MeasureDifference]:
    """Compare both sides by every measure; takes (user, live, other) ranks."""
    return {name: _difference(choices, measure) for name, measure in MEASURES.items()}


def _difference(choices: Sequence[tuple[str, int, int]], measure: Callable[[int], float]) -> MeasureDifference:
    users: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for user, live, other in choices:
        users[user].append((measure(live), measure(other)))
    mean, mean_other = (math.fsum(each[n] for found in users.values() for each in found) / len(choices) for n in (0, 1))
    deltas = [(len(found), math.fsum(other - live for live, other in found)) for found in users.values()]
    margin = None
    if len(users) > 1:
        # The linearised variance of a ratio of sums over users.
        spread = math.fsum((delta - (mean_other - mean) * count) ** 2 for count, delta in deltas)
        margin = 1.96 * math.sqrt(spread * len(users) / (len(users) - 1)) / len(choices)
    better, worse = (sum(sign * delta > _TINY for _, delta in deltas) for sign in (1, -1))
    return MeasureDifference(mean, mean_other, margin, better, worse)
