"""The corpus' figures as tables: how many of how many, by class, language or channel."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from tests.redteam.samples import ATTACKS, Sample
from tests.redteam.verdicts import Result

COLUMNS = {
    "attack": {
        "slim skill, one item": lambda r: r.slim,
        "slim skill, many items": lambda r: r.slim_of_many,
        "prompt": lambda r: r.prompt,
    },
    "personal": {"kept": lambda r: r.kept},
    "innocent": {
        "refused or changed": lambda r: r.refused,
        "held back, one item": lambda r: r.held,
        "held back, many items": lambda r: r.held_of_many,
    },
}
"""What is told of each side, by the columns' names."""
BY: dict[str, Callable[[Result], str]] = {
    "class": lambda r: r.sample.cls,
    "language": lambda r: r.sample.language,
    "channel": lambda r: r.sample.channel,
}


def side_of(sample: Sample) -> str:
    """Which table tells of a sample: `attack`, `personal` or `innocent`."""
    return "attack" if sample.kind in ATTACKS else sample.kind


def failures(results: Iterable[Result], column: str) -> tuple[int, int]:
    """How many failed in a column, of how many that could."""
    of = next(each[column] for each in COLUMNS.values() if column in each)
    told = [verdict for verdict in map(of, results) if verdict is not None]
    return sum(told), len(told)


def table(side: str, results: Sequence[Result], by: str = "class") -> str:
    """A row for each group of one side's results, with the number that failed of those that could."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[BY[by](result)].append(result)
    rows = [(name, groups[name]) for name in sorted(groups)] + [("all", list(results))]
    head = [f"{side}, by {by}", *COLUMNS[side]]
    lines = [head, ["---"] * len(head)]
    lines += [[name, *(_cell(*failures(held, column)) for column in COLUMNS[side])] for name, held in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def languages(results: Sequence[Result]) -> str:
    """In which languages something failed at all, the most failures first.

    A table of all languages is what `--by language` prints.
    """
    all_of = Counter(result.sample.language for result in results)
    failed = Counter(result.sample.language for result in results if result.failed)
    if not failed:
        return f"By language: none of {len(all_of)} languages."
    told = ", ".join(f"{name} {times}/{all_of[name]}" for name, times in sorted(failed.items(), key=lambda i: -i[1]))
    return f"By language: {told}; none in the other {len(all_of) - len(failed)} languages."


def _cell(failed: int, of: int) -> str:
    return f"{failed}/{of}" if of else ""
