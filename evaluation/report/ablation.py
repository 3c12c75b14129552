"""Ablations: the layouts of the paper's Table 4 (parts) and Table 5 (how a skill is updated)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluation.kept import Row
from evaluation.report import paper
from evaluation.report.cells import NONE, change, compared, heads, measures
from evaluation.report.document import Block, Heading, Section, Table, Text
from evaluation.report.main_results import missing, paper_note
from evaluation.report.paper import HITS
from evaluation.report.results import LISTS, Results

FULL = ("sager-llm", "sager-rules")
"""The full arms, with a model and without."""


@dataclass(frozen=True)
class Configuration:
    """A row of these tables.

    Attributes:
        arm: empty for the full arm, which may be one of several.
        printed: the paper's name for the row.
    """

    what: str
    arm: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Layout:
    """One of the paper's tables."""

    title: str
    number: str
    configurations: Sequence[Configuration]
    printed: Mapping[str, Mapping[str, tuple[float, ...]]]


PARTS = Layout(
    "What each part is worth",
    "Table 4",
    (
        Configuration("all parts", "", "Sager (Full)"),
        Configuration("without the policy skill", "no-skill", "w/o Policy Skill"),
        Configuration("without the statistical prior", "sager-no-statinit", "w/o Statistical Init"),
        Configuration("without listwise ranking", "sager-pointwise", "w/o Listwise Reasoning"),
        Configuration("without incremental evolution", "statinit", "w/o Incremental CoT"),
        Configuration("without reading the neighbours", "sager-no-collaborative"),
        Configuration("without telling the neighbours", "sager-no-propagate"),
    ),
    paper.ABLATION,
)
UPDATES = Layout(
    "Incremental against full replacement",
    "Table 5",
    (
        Configuration("incremental", "", "Incremental CoT"),
        Configuration("full replacement", "sager-replace", "Full-Replacement CoT"),
        Configuration("prior only", "statinit", "StatInit Only"),
        Configuration("no skill", "no-skill", "No Policy Skill (MemRec)"),
    ),
    paper.REPLACEMENT,
)


def ablation(results: Results, layout: Layout, full: str | None = None) -> Section:
    """The section of one of these layouts.

    Args:
        results: the results.
        layout: the table.
        full: the arm that the others remove parts from; by default the first of `FULL` that a data set has.
    """
    blocks: list[Block] = []
    for candidates in LISTS:
        chosen = {data: _rows(results, results.chosen(data, candidates), layout, full) for data in results.data}
        chosen = {data: rows for data, rows in chosen.items() if len(rows) > 1 and layout.configurations[0] in rows}
        if chosen:
            blocks.append(Heading(f"{layout.title}, {candidates} negatives"))
            blocks += _tables(results, layout, chosen)
    if not blocks:
        arms = ",".join([full or FULL[0], *(each.arm for each in layout.configurations if each.arm)])
        blocks.append(missing(f"--data DIR --arm {arms}"))
    blocks.append(_papers(layout))
    return Section(f"{layout.title} ({layout.number})", blocks)


def _rows(results: Results, chosen: Mapping[str, Row], layout: Layout, full: str | None) -> dict[Configuration, Row]:
    whole = next((chosen[arm] for arm in ([full] if full else FULL) if arm in chosen), None)
    found = {each: chosen.get(each.arm) if each.arm else whole for each in layout.configurations}
    there = {each: row for each, row in found.items() if row}
    return dict(zip(there, results.level(list(there.values())), strict=True))


def _tables(
    results: Results, layout: Layout, chosen: Mapping[str, Mapping[Configuration, Row]]
) -> Iterator[Table | Text]:
    head = ["configuration", *(f"{data} {title}" for data in chosen for title in heads(HITS))]
    wide = [
        [each.what, *(cell for rows in chosen.values() for cell in _cells(rows.get(each)))]
        for each in layout.configurations
        if any(each in rows for rows in chosen.values())
    ]
    whole = layout.configurations[0]
    tested = ", ".join(f"{rows[whole].users:,} of {data}" for data, rows in chosen.items())
    yield Table(head, wide, caption=f"All rows are of the users that each of a data set's arms ranked: {tested}.")
    paired = [
        [data, each.what, row.arm, *_against(results, row, rows[whole]), _printed(layout, each, data)]
        for data, rows in chosen.items()
        for each, row in rows.items()
        if each != whole
    ]
    arms: dict[str, list[str]] = {}
    for data, rows in chosen.items():
        arms.setdefault(rows[whole].arm, []).append(data)
    names = "; ".join(f"{arm} on {', '.join(of)}" for arm, of in arms.items())
    yield Table(
        ["data", "configuration", "arm", "users", "H@1 less the whole [95 %]", "p", "change", "paper's change"],
        paired,
        words=3,
        caption=f"The whole is {names}. The paper's changes are of other data.",
    )


def _cells(row: Row | None) -> list[str]:
    return [NONE] * len(HITS) if row is None else measures(row, HITS)


def _against(results: Results, row: Row, whole: Row) -> list[str]:
    found = results.difference(row, whole)
    return [f"{found.users:,}" if found else NONE, *compared(found), change(found.relative if found else None)]


def _printed(layout: Layout, each: Configuration, data: str) -> str:
    """By how much the paper's Hit@1 changes."""
    if not each.printed or data not in paper.SETS:
        return NONE
    name = paper.SETS[data]
    whole = layout.printed[layout.configurations[0].printed][name][0]
    return change(layout.printed[each.printed][name][0] / whole - 1)


def _papers(layout: Layout) -> Table:
    sets = list(next(iter(layout.printed.values())))
    head = ["configuration (paper)", *(f"{name} H@{k}" for name in sets for k in (1, 3, 5))]
    rows = [
        [name, *(f"{figure:.3f}" for each in sets for figure in by_set[each])]
        for name, by_set in layout.printed.items()
    ]
    return Table(head, rows, caption=paper_note(layout.number))
