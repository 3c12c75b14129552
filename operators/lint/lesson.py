"""What one event teaches, and what is doubtful about it, in sentences for whoever writes the integration."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from operators.stated import in_words
from operators.steps.evolved import Effects, Outcome
from schemas import ChangeKind, Said, SkillDiff

MAX_NAMED = 5
"""How many things of a kind a sentence names; of the others it says how many there are."""
MAX_NAME = 60
_GOES_UP = frozenset({ChangeKind.DISCOVERED, ChangeKind.REINFORCED})
_NOT_LEARNED = {
    Outcome.REPEATED: "is known already: a repeat counts once",
    Outcome.FROZEN: "comes after the warm-up that this deployment has set: skills learn no more",
    Outcome.FORGOTTEN: "is covered by a request to forget",
}


@dataclass
class Lesson:
    """What one event will do.

    Attributes:
        teaches: what is learned from it, one sentence each.
        warnings: what would make it teach more, or why it teaches nothing.
    """

    teaches: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def learns(self, what: str, effects: Effects) -> None:
        """Add what an event did to a skill.

        Args:
            what: what happened, as the beginning of the sentence.
            effects: of the step.
        """
        diff = effects.diff
        if diff is None:
            self.warnings.append(f"this event {_NOT_LEARNED.get(effects.outcome, 'changes nothing')}")
            return
        up, down = moved(diff)
        parts = [
            *([f"speaks for {listed(up)}"] if up else []),
            *([f"speaks against {listed(down)}"] if down else []),
            *([f"the person {listed(stated)}"] if (stated := said(diff)) else []),
        ]
        told = "; ".join(parts) or "no line of a skill changes by it"
        self.teaches.append(f"{what}: {told}")
        if private := sorted({each.attribute_id for each in diff.refused if each.why.value == "private"}):
            self.warnings.append(f"the privacy filter keeps {number(len(private), 'line')} of it out of the skill")


def moved(diff: SkillDiff) -> tuple[list[str], list[str]]:
    """The facts that a diff speaks for and against, as `genre sci-fi`."""
    up: list[str] = []
    down: list[str] = []
    for change in diff.changes:
        line = change.discovered
        named = change.attribute_id.partition(":")[2].replace(":", " ", 1) if line is None else ""
        name = named if line is None else f"{line.dimension} {line.value}"
        if change.kind in _GOES_UP:
            up.append(name)
        elif change.kind is ChangeKind.WEAKENED:
            down.append(name)
    return up, down


def said(diff: SkillDiff) -> list[str]:
    """What a diff notes as said by the person, as `avoids horror (genre), always`."""
    found = [change.statement for change in diff.stated if change.kind is Said.STATED and change.statement is not None]
    return [f"{in_words(statement)}, {statement.scope.value}" for statement in found]


def listed(names: Sequence[str], most: int = MAX_NAMED) -> str:
    """Some names, and how many there are besides.

    >>> listed(["genre noir", "era 1990s"]), listed(list("abcdefg"))
    ('genre noir, era 1990s', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shown(names: Iterable[str]) -> list[str]:
    r"""Names that an app chose, fit for a sentence: short, in order, and without what a terminal would obey.

    >>> shown(["b\x1b[2J", "a" * 70])[1]
    'b\ufffd[2J'
    """
    return ["".join(c if c.isprintable() else "\ufffd" for c in name[:MAX_NAME]) for name in sorted(names)]


def number(count: int, what: str) -> str:
    """A count of things.

    >>> number(1, "item"), number(3, "item")
    ('1 item', '3 items')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
