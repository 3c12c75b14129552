"""How often the first place was what the user took, by how many choices their skill had learned from."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from operators.merge import merge, start
from operators.whatif import place
from schemas import Contrast, SkillDiff

FROM = (0, 1, 2, 3, 5, 9, 17)
"""The least number of choices of each bucket; the last one is open-ended."""


@dataclass(frozen=True)
class Point:
    """One bucket.

    Attributes:
        seen: how many choices the skills had learned from, in words.
        choices: how many choices are in it.
        learned, prior: the share of them whose item stood first, ranked by the skill as it was at that choice, and by
            the skill that the user began with.
    """

    seen: str
    choices: int
    learned: float
    prior: float


def curve(diffs: Iterable[SkillDiff], contrasts: Mapping[str, Contrast]) -> list[Point]:
    """The points of a run; both sides rank the very lists that the users chose from, by the skill alone.

    Args:
        diffs: the whole log.
        contrasts: the choices, by event id.
    """
    logs: dict[tuple[str, str], list[SkillDiff]] = defaultdict(list)
    for diff in sorted(diffs, key=lambda each: each.version):
        logs[diff.user_id, diff.domain].append(diff)
    firsts: dict[int, list[tuple[bool, bool]]] = defaultdict(list)
    for log in logs.values():
        seed = log[0].seed or ()
        skill = start(log[0].user_id, log[0].domain, seed, log[0])
        for diff in log:
            contrast = contrasts.get(diff.event_id)
            if contrast is not None:
                both = place(contrast, skill.attributes) == 1, place(contrast, seed) == 1
                firsts[bisect_right(FROM, skill.contrasts) - 1].append(both)
            skill = merge(skill, diff)
    return [
        Point(label(number), len(hits), _share(one for one, _ in hits), _share(other for _, other in hits))
        for number, hits in sorted(firsts.items())
    ]


def label(number: int) -> str:
    """A bucket's name.

    >>> [label(number) for number in range(len(FROM))]
    ['0', '1', '2', '3-4', '5-8', '9-16', '17+']
    """
    first = FROM[number]
    if number + 1 == len(FROM):
        return f"{first}+"
    last = FROM[number + 1] - 1
    return str(first) if first == last else f"{first}-{last}"


def _share(hits: Iterable[bool]) -> float:
    each = list(hits)
    return sum(each) / len(each)
