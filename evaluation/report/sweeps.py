"""Sweeps of two settings: tau (the paper's Figure 6) and the length of the slim skill (Figure 7)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluation.kept import Row
from evaluation.report import paper
from evaluation.report.cells import NONE, SHORT, change, compared, costs, heads, measures
from evaluation.report.document import Block, Chart, Heading, Kind, Panel, Picture, Section, Series, Table, Text
from evaluation.report.main_results import missing
from evaluation.report.paper import HITS
from evaluation.report.results import LISTS, Results, slim_tokens, tau

Sweep = Sequence[Row]
"""Runs of one arm that differ in one setting, by its rising value."""


@dataclass(frozen=True)
class Swept:
    """A setting that is swept.

    Attributes:
        name: the name of its file and column.
        option: its command-line option.
        own: its value in a run.
        other: the setting that must stay the same.
        tried: the paper's values.
        says: the paper's statement about it.
    """

    name: str
    title: str
    option: str
    own: Callable[[Row], int]
    other: Callable[[Row], int]
    tried: tuple[int, ...]
    says: str


TAU = Swept(
    "tau",
    "Warm-up rounds (Figure 6)",
    "--tau",
    tau,
    slim_tokens,
    (0, 1, 2, 3),
    "The paper (3.5, Yelp, MovieTV and Books, other data): 2 is best in most measures, 3 is worse again. It prints "
    "no figures but the gain in H@1 of tau 1 over tau 0, which stands in the last column.",
)
SLIM = Swept(
    "slim",
    "Length of the slim skill (Figure 7)",
    "--slim-tokens",
    slim_tokens,
    tau,
    (10, 30, 80, 150, 200),
    "The paper (3.5, other data) prints no figures: by it 10 tokens are better than none, 30 are best, and from 150 on "
    "H@1 falls.",
)


def sweep(results: Results, swept: Swept, baseline: str) -> Section:
    """The section of one setting."""
    blocks: list[Block] = []
    for candidates in LISTS:
        found = [each for data in results.data for each in _sweeps(results, swept, data, candidates)]
        if found:
            blocks.append(Heading(f"{swept.title.partition(' (')[0]}, {candidates} negatives"))
            blocks.append(_table(results, swept, found, baseline))
            blocks.append(_picture(results, swept, found, candidates, baseline))
    if not blocks:
        values = " ".join(map(str, swept.tried))
        blocks.append(missing(f"--data DIR --arm sager-rules --users 1000 {swept.option} N"))
        blocks.append(Text(f"It is to be run with N of {values.replace(' ', ', ')}."))
    blocks.append(Text(swept.says))
    return Section(swept.title, blocks)


def _sweeps(results: Results, swept: Swept, data: str, candidates: str) -> list[Sweep]:
    """The longest sweep of each arm with a skill; on a tie, the one with the most users."""
    groups: dict[tuple[str, int, int, int, str], list[Row]] = {}
    for row in results.rows:
        if (row.data, row.candidates) == (data, candidates) and _has_skill(row.arm):
            key = (row.arm, row.seed, row.users, swept.other(row), row.fingerprint)
            groups.setdefault(key, []).append(row)
    longest: dict[str, list[Row]] = {}
    for (arm, *_), rows in groups.items():
        if len(rows) > 1:
            longest[arm] = max(longest.get(arm, rows), rows, key=lambda found: (len(found), found[0].users))
    return [sorted(rows, key=swept.own) for rows in longest.values()]


def _has_skill(arm: str) -> bool:
    return arm.startswith("sager-") or arm.endswith("+skill") or arm == "statinit"


def _reference(results: Results, swept: Swept, rows: Sweep, baseline: str) -> Row | None:
    """The reference of a sweep, on its users: no warm-up, or no skill."""
    if swept is TAU:
        return rows[0] if tau(rows[0]) == 0 else None
    found = results.chosen(rows[0].data, rows[0].candidates).get(baseline)
    return results.level([rows[0], found])[1] if found else None


def _table(results: Results, swept: Swept, found: Sequence[Sweep], baseline: str) -> Table:
    against = "tau 0" if swept is TAU else baseline
    rows = []
    for each in found:
        other = _reference(results, swept, each, baseline)
        for row in each:
            difference = results.difference(row, other)
            rows.append(
                [
                    *(row.data, row.arm, str(swept.own(row)), f"{row.users:,}", *measures(row, HITS)),
                    *compared(difference),
                    change(difference.relative if difference else None),
                    *_printed(swept, row),
                    *costs(row)[:2],
                ]
            )
    head = [
        *("data", "arm", swept.option.removeprefix("--").replace("-", " "), "users", *heads(HITS)),
        *(f"H@1 less {against} [95 %]", "p", "change"),
        *(["paper's change, other data"] if swept is TAU else []),
        *("seconds", "LLM calls"),
    ]
    return Table(head, rows, words=2)


def _printed(swept: Swept, row: Row) -> list[str]:
    if swept is not TAU:
        return []
    gain = paper.FIRST_ROUND.get(paper.SETS.get(row.data, "")) if tau(row) == 1 else None
    return [NONE if gain is None else change(gain)]


def _picture(results: Results, swept: Swept, found: Sequence[Sweep], candidates: str, baseline: str) -> Picture:
    arms = {rows[0].arm for rows in found}
    names = {id(rows): rows[0].data if len(arms) == 1 else f"{rows[0].data}: {rows[0].arm}" for rows in found}
    panels = [Panel(SHORT[measure], list(_series(results, swept, found, baseline, measure, names))) for measure in HITS]
    of = f" of {arms.pop()}" if len(arms) == 1 else ""
    title = f"{swept.title.partition(' (')[0]}{of}, {candidates} negatives"
    at = "tau" if swept is TAU else "budget of the slim skill, tokens"
    chart = Chart(Kind.LINES, title, panels, "hit rate, with 95 % interval", at)
    alt = f"Hit rates by {at}, {candidates} negatives; the table has the numbers."
    return Picture(f"{swept.name}-{candidates}", alt, chart)


def _series(
    results: Results, swept: Swept, found: Sequence[Sweep], baseline: str, measure: str, names: Mapping[int, str]
) -> Iterator[Series]:
    drawn = set()
    for rows in found:
        yield Series(names[id(rows)], [results.point(row, measure, swept.own(row)) for row in rows])
        other = None if swept is TAU else _reference(results, swept, rows, baseline)
        if other is not None and other.run_id not in drawn:
            drawn.add(other.run_id)
            ends = [results.point(other, measure, swept.own(row)) for row in (rows[0], rows[-1])]
            yield Series(f"{other.data}: {baseline}", ends, pale=True)
