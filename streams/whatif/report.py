"""What a replay comes to, in sums."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operators.chain import unsealed
from operators.whatif import Moment, Tally
from schemas import PolicySkill, ReasonedBy


@dataclass
class Costs:
    """What one side's reasoning took.

    Attributes:
        learned: choices that it learned from.
        fallbacks: of these, how many were judged by another reasoner than the configured one.
    """

    learned: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fallbacks: int = 0

    def add(self, by: ReasonedBy) -> None:
        """Count one answer."""
        self.learned += 1
        self.calls += by.calls
        self.prompt_tokens += by.prompt_tokens
        self.completion_tokens += by.completion_tokens
        self.fallbacks += by.fallback is not None


@dataclass
class Sizes:
    """What one side's skills have come to, in sums over skills."""

    lines: int = 0
    slim_tokens: int = 0


@dataclass
class Report:
    """What came of a replay.

    Attributes:
        name: the run's.
        changed: the knobs, as they were given.
        file: where its rows are.
        skills: how many were replayed, by user and domain.
        identical: how many of them end alike byte for byte, see `comparable`.
        pending: choices that the live side had not come to yet: left out.
        missing: live diffs in between whose event was not at hand; the other side did without it.
        broken: skills that were left out, because their log has a gap or nothing.
        unavailable: choices from which the other side learned nothing, because no reasoner answered.
    """

    name: str
    changed: Mapping[str, Any]
    file: Path
    skills: int = 0
    identical: int = 0
    pending: int = 0
    missing: int = 0
    broken: int = 0
    unavailable: int = 0
    commands: int = 0
    tally: Tally = field(default_factory=Tally)
    live: Costs = field(default_factory=Costs)
    other: Costs = field(default_factory=Costs)
    live_sizes: Sizes = field(default_factory=Sizes)
    other_sizes: Sizes = field(default_factory=Sizes)

    def note(self, moment: Moment) -> None:
        """Count one event of both sides."""
        for costs, diff in ((self.live, moment.live_diff), (self.other, moment.diff)):
            if diff is not None and diff.is_contrast and moment.contrast is not None:
                costs.add(diff.reasoned_by)
        self.unavailable += bool(moment.unavailable)
        if moment.contrast is not None:
            self.tally.add(moment.contrast.user_id, moment.live_place, moment.other_place)
        elif moment.diff is not None:
            self.commands += 1

    def note_end(self, live: PolicySkill, other: PolicySkill, live_tokens: int, other_tokens: int) -> None:
        """Count one skill, once both sides have come to their end."""
        self.skills += 1
        self.identical += comparable(live) == comparable(other)
        for sizes, skill, tokens in ((self.live_sizes, live, live_tokens), (self.other_sizes, other, other_tokens)):
            sizes.lines += len(skill.attributes)
            sizes.slim_tokens += tokens


def comparable(skill: PolicySkill) -> PolicySkill:
    """Return the skill without its seals and its selection for the slim skill.

    The selection depends on other people's tastes at the time, which a replay does not have.
    """
    bare = unsealed(skill)
    last = bare.last_diff and bare.last_diff.model_copy(update={"slim_lines": None})
    return bare.model_copy(update={"slim_lines": (), "last_diff": last})
