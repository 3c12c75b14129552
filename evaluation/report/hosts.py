"""Other agents with and without a skill: the paper's Figures 3 to 5."""

from collections.abc import Mapping, Sequence

from evaluation.hosts import HOSTS
from evaluation.kept import Row
from evaluation.report import paper
from evaluation.report.cells import NONE, SHORT, change, compared, measures, number
from evaluation.report.document import Block, Chart, Heading, Kind, Panel, Picture, Section, Series, Table, Text
from evaluation.report.main_results import missing
from evaluation.report.paper import MEASURES
from evaluation.report.results import LISTS, Results

SHOWN = ("hit_at_1", "hit_at_3", "ndcg_at_5")
"""The measures of these figures."""
FIGURES = {"static-profile": "Figure 3", "dynamic-profile": "Figure 4", "vanilla": "Figure 5"}
Pairs = Mapping[str, Mapping[str, Sequence[Row]]]
"""Runs without and with the skill on the same users, by host and data set."""


def hosts(results: Results) -> Section:
    """The section of hosts."""
    blocks: list[Block] = []
    for candidates in LISTS:
        pairs = _pairs(results, candidates)
        if pairs:
            blocks += [
                Heading(f"Hosts, {candidates} negatives"),
                _table(results, pairs),
                _picture(results, pairs, candidates),
            ]
    if blocks:
        blocks.append(
            Text("The paper draws its Figures 3 to 5 without figures; what it has of hosts without a skill is above.")
        )
    else:
        blocks.append(missing(f"--data DIR --arm {','.join(f'{host},{host}+skill' for host in HOSTS)}"))
    return Section("Other agents with and without a skill (Figures 3 to 5)", blocks)


def _pairs(results: Results, candidates: str) -> Pairs:
    chosen = {data: results.chosen(data, candidates) for data in results.data}
    found = {
        host: {
            data: results.level([arms[host], arms[f"{host}+skill"]])
            for data, arms in chosen.items()
            if host in arms and f"{host}+skill" in arms
        }
        for host in HOSTS
    }
    return {host: by_data for host, by_data in found.items() if by_data}


def _table(results: Results, pairs: Pairs) -> Table:
    rows = []
    for host, by_data in pairs.items():
        for data, (bare, skilled) in by_data.items():
            found = results.difference(skilled, bare)
            both = zip(measures(bare, SHOWN), measures(skilled, SHOWN), strict=True)
            rows.append(
                [
                    *(host, data, f"{found.users:,}" if found else NONE),
                    *(cell for pair in both for cell in pair),
                    *compared(found),
                    change(found.relative if found else None),
                    _printed(host, data),
                ]
            )
    names = [f"{SHORT[name]}{' [95 %]' if name == 'hit_at_1' else ''}" for name in SHOWN]
    head = [
        *("host", "data", "users"),
        *(title for name in names for title in (name, f"{name} with the skill")),
        *("H@1 with less without [95 %]", "p", "change", "paper's host without: H@1, H@3, N@5; other data"),
    ]
    return Table(head, rows, words=2)


def _printed(host: str, data: str) -> str:
    if data not in paper.SETS:
        return NONE
    model = paper.MODEL_OF_ARM[host]
    by_measure = dict(zip(MEASURES, paper.MAIN[paper.SETS[data]][model], strict=True))
    return f"{model}: {', '.join(number(by_measure[name]) for name in SHOWN)}"


def _picture(results: Results, pairs: Pairs, candidates: str) -> Picture:
    panels = [
        Panel(
            f"{host} ({FIGURES[host]}): {SHORT[measure]}",
            [
                Series(told, [results.point(pair[with_skill], measure, data) for data, pair in by_data.items()], pale)
                for told, with_skill, pale in (("without the skill", 0, False), ("with the skill", 1, True))
            ],
        )
        for host, by_data in pairs.items()
        for measure in SHOWN
    ]
    title = f"Hosts with and without a skill, {candidates} negatives"
    chart = Chart(Kind.BARS, title, panels, "mean, with 95 % interval")
    alt = f"Bars of {', '.join(pairs)} without and with a skill, {candidates} negatives; the table has the numbers."
    return Picture(f"hosts-{candidates}", alt, chart)
