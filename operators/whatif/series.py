"""The events of one skill in the order in which the live side worked on them, read off its log.

Choices and commands stand in two topics, and only the log tells in which order they were taken. What has no diff was
passed over: by a frozen skill, after its warm-up, or because no reasoner answered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from operators.merge import merge, start
from schemas import Contrast, PolicySkill, Position, SkillCommand, SkillDiff, decode


@dataclass(frozen=True, slots=True)
class Held:
    """A contrast that is at hand: as bytes, a twentieth of what it takes decoded."""

    event_id: str
    raw: bytes
    source: Position

    def contrast(self) -> Contrast:
        """The contrast itself.

        Raises:
            BadRecord: the bytes are none.
        """
        return decode(Contrast, self.raw)


@dataclass(frozen=True, slots=True)
class HeldCommand:
    """A person's command, and where it stands."""

    command: SkillCommand
    source: Position


@dataclass(frozen=True, slots=True)
class Step:
    """One event: what came in, and what the live side made of it.

    Attributes:
        diff: the live diff; None for a choice that was passed over.
        held: the choice, if it was one and is at hand.
        command: the command, likewise.
    """

    diff: SkillDiff | None
    held: Held | None = None
    command: HeldCommand | None = None

    @property
    def visit(self) -> SkillDiff | None:
        """What came of an item taken without a list, or of what the person said, if the event was that."""
        diff = self.diff
        if diff is None or diff.is_contrast or (diff.tally is None and diff.heard is None):
            return None
        return diff

    @property
    def source(self) -> Position | None:
        """Where the event stands: as the live side had it, where it learned from it."""
        if self.diff is not None and self.diff.source is not None:
            return self.diff.source
        return self.held.source if self.held else self.command.source if self.command else None


@dataclass(frozen=True, slots=True)
class Series:
    """One skill's events, from where both sides are alike.

    Attributes:
        start: the live skill just before the first choice at hand; where that is its very first, the seed.
        steps: what came then.
        pending: choices at hand that the live side has not come to yet.
        missing: live diffs whose choice or command is not at hand any more.
    """

    start: PolicySkill
    steps: tuple[Step, ...]
    pending: int
    missing: int

    @property
    def choices(self) -> int:
        """How many choices both sides are measured at."""
        return sum(step.held is not None for step in self.steps)


def series(
    diffs: Sequence[SkillDiff],
    held: Sequence[Held],
    commands: Mapping[str, HeldCommand],
    passes_over: Callable[[PolicySkill], bool],
) -> Series:
    """The events of one user in one domain, in order.

    Args:
        diffs: the skill's log, by version; a version that comes twice counts once. At least one.
        held: the choices at hand, in the order of their partition; repeats are passed over.
        commands: the commands at hand, by event id.
        passes_over: whether the live side learns from no further choice with this skill.

    Raises:
        OutOfOrder: the log has a gap.
        ValueError: the log is empty.
    """
    if not diffs:
        raise ValueError("without a log nobody knows what a skill started from")
    waiting: dict[str, Held] = {}
    for one in held:
        waiting.setdefault(one.event_id, one)
    learned = {diff.event_id for diff in diffs if diff.is_contrast}
    first = diffs[0]
    live = start(first.user_id, first.domain, first.seed or (), first)
    live = live.model_copy(update={"applied": first.seeded_from})
    begin, steps, begun = live, list[Step](), False
    for diff in diffs:
        if diff.version <= live.version:
            continue
        if diff.is_contrast and diff.event_id in waiting:
            steps += _passed(waiting, learned)
            steps.append(Step(diff, waiting.pop(diff.event_id)))
        else:
            steps.append(Step(diff, command=None if diff.is_contrast else commands.get(diff.event_id)))
        live = merge(live, diff)
        begun = begun or steps[-1].held is not None
        if not begun:
            # Nothing to be measured at so far: both sides share it.
            begin, steps = live, []
        if passes_over(live):
            steps += _passed(waiting, learned)
            begun = begun or bool(steps)
    last = max((n for n, step in enumerate(steps) if step.held), default=-1)
    # The log may have been read further than the choices.
    end = next((n for n in range(last + 1, len(steps)) if _is_missing(steps[n])), len(steps))
    kept = tuple(steps[:end])
    return Series(begin, kept, len(waiting), sum(map(_is_missing, kept)))


def _passed(waiting: dict[str, Held], learned: set[str]) -> Iterator[Step]:
    """The choices that stand before the next one that was learned from."""
    while waiting and next(iter(waiting)) not in learned:
        yield Step(None, waiting.pop(next(iter(waiting))))


def _is_missing(step: Step) -> bool:
    return step.held is None and step.command is None and step.visit is None
