"""The main results: all arms per data set, in the layout of the paper's Tables 2 and 3."""

from collections.abc import Iterator, Mapping

from evaluation.hosts import HOSTS
from evaluation.kept import Row
from evaluation.report import paper
from evaluation.report.cells import COSTS, NONE, compared, costs, heads, measures, number, slug
from evaluation.report.document import Block, Chart, Heading, Kind, Panel, Picture, Section, Series, Table, Text
from evaluation.report.paper import HITS, MEASURES
from evaluation.report.results import LISTS, Results, label

ELSEWHERE = {
    *("sager-replace", "sager-pointwise", "sager-no-statinit", "sager-no-collaborative", "sager-no-propagate"),
    *(f"{host}+skill" for host in HOSTS),
}
"""Arms that have tables of their own: ablations and hosts."""
ARMS_TO_ASK_FOR = "popularity,item-knn,profile,no-skill,statinit,sager-rules"


def main_results(results: Results, baseline: str) -> Iterator[Section]:
    """The sections, one per data set."""
    if not results.data:
        yield Section("Main results (Tables 2 and 3)", [missing(f"--data DIR --arm {ARMS_TO_ASK_FOR}")])
    for data in results.data:
        yield Section(f"Main results: {data}{_table_of(data)}", list(_of(results, data, baseline)))


def missing(arguments: str) -> Text:
    """The text that replaces an empty table."""
    return Text(f"No results yet. This command makes some: `sager eval {arguments}`")


def paper_note(what: str) -> str:
    """The caption of the paper's own figures."""
    return (
        f"The paper's figures: {what}. They are of other data (InstructRec's editions, 10 candidates each with "
        "instructions written by a model) and of gpt-4o-mini: to be set beside ours for their order and their "
        "gaps, not figure against figure."
    )


def _of(results: Results, data: str, baseline: str) -> Iterator[Block]:
    shown: dict[str, dict[str, Row]] = {}
    for candidates in LISTS:
        chosen = {arm: row for arm, row in results.chosen(data, candidates).items() if arm not in ELSEWHERE}
        if not chosen:
            yield Heading(f"{data}, {candidates} negatives")
            yield missing(f"--data {data} --candidates {candidates} --arm {ARMS_TO_ASK_FOR}")
            continue
        shown[candidates] = chosen
        seed = next(iter(chosen.values())).seed
        yield Heading(f"{data}, {candidates} negatives, seed {seed}")
        yield _table(results, data, chosen, baseline)
        if len({row.users for row in chosen.values()}) > 1:
            yield Text(
                "Not all arms ranked the same number of users. A smaller sample is part of a larger one of the same "
                "seed, and differences are taken on the users in common; the other columns are each arm's own users."
            )
    if shown:
        yield _picture(results, data, shown)
    if data in paper.SETS:
        yield _papers(paper.SETS[data])


def _table(results: Results, data: str, chosen: Mapping[str, Row], baseline: str) -> Table:
    against = chosen.get(baseline)
    own = paper.MAIN.get(paper.SETS.get(data, ""), {})
    rows = []
    for arm, row in chosen.items():
        model = paper.MODEL_OF_ARM.get(arm, "")
        like = f"{number(own[model][0])} {model}" if model in own else NONE
        difference = compared(results.difference(row, against))
        rows.append([label(row), f"{row.users:,}", *measures(row, MEASURES), *difference, *costs(row), like])
    told = f"Differences are from {baseline}" if against else f"There is no result of {baseline} to compare with"
    head = ["arm", "users", *heads(MEASURES), f"H@1 less {baseline} [95 %]", "p", *COSTS, "paper's H@1, other data"]
    return Table(head, rows, caption=f"{told}.")


def _papers(name: str) -> Table:
    rows = [[model, *map(number, figures)] for model, figures in paper.MAIN[name].items()]
    head = ["model (paper)", *(title.removesuffix(" [95 %]") for title in heads(MEASURES))]
    return Table(head, rows, caption=paper_note(f"{paper.TABLE_OF_SET[name]}, {name}"))


def _picture(results: Results, data: str, shown: Mapping[str, Mapping[str, Row]]) -> Picture:
    panels = [
        Panel(
            f"{candidates} negatives, {_users(chosen)}",
            [
                Series(heads([measure])[0].split()[0], [results.point(r, measure, label(r)) for r in chosen.values()])
                for measure in HITS
            ],
        )
        for candidates, chosen in shown.items()
    ]
    chart = Chart(Kind.DOTS, f"{data}: hit rates by arm", panels, "hit rate, with 95 % interval", columns=2)
    best = max(next(iter(shown.values())).values(), key=lambda row: row.measures["hit_at_1"])
    alt = (
        f"Hit rates at 1, 3 and 5 of each arm on {data}. With {best.candidates} negatives {best.arm} has the highest "
        f"Hit@1, {number(best.measures['hit_at_1'])}."
    )
    return Picture(f"main-{slug(data)}", alt, chart)


def _users(chosen: Mapping[str, Row]) -> str:
    least, most = min(row.users for row in chosen.values()), max(row.users for row in chosen.values())
    return f"{least:,} users" if least == most else f"{least:,} to {most:,} users"


def _table_of(data: str) -> str:
    return f" ({paper.TABLE_OF_SET[paper.SETS[data]]})" if data in paper.SETS else ""
