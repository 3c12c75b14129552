"""The learning curve: Hit@1 by the number of a user's contrasts."""

from collections.abc import Sequence

from evaluation.kept import Curve
from evaluation.report.cells import number
from evaluation.report.document import (
    Block,
    Chart,
    Kind,
    Panel,
    Picture,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from evaluation.report.results import Results


def learning(results: Results) -> Section:
    """The section of learning curves."""
    blocks: list[Block] = []
    if results.curves:
        blocks = [_table(results.curves), _picture(results.curves)]
    else:
        blocks = [Text("This file of results has no learning curve; `Store.add_curve` keeps one.")]
    return Section("Learning curve", blocks)


def _table(curves: Sequence[Curve]) -> Table:
    rows = [
        [
            *(curve.data, curve.candidates, curve.arm, str(curve.seed)),
            *(f"{point.contrasts_seen:,}", f"{point.users:,}"),
            f"{number(point.hit_at_1)} [{point.hit_at_1_low:.3f}, {point.hit_at_1_high:.3f}]",
        ]
        for curve in curves
        for point in curve.points
    ]
    return Table(
        ["data", "candidates", "arm", "seed", "contrasts seen", "users", "H@1 [95 %]"],
        rows,
        words=3,
        caption="Users who have seen many contrasts are fewer, and others, than those who have seen few.",
    )


def _picture(curves: Sequence[Curve]) -> Picture:
    panels: dict[str, list[Series]] = {}
    seeds = {curve.seed for curve in curves}
    for curve in curves:
        points = [
            Point(point.contrasts_seen, point.hit_at_1, point.hit_at_1_low, point.hit_at_1_high)
            for point in curve.points
        ]
        name = curve.arm if len(seeds) == 1 else f"{curve.arm}, seed {curve.seed}"
        panels.setdefault(f"{curve.data}, {curve.candidates} negatives", []).append(Series(name, points))
    chart = Chart(
        Kind.LINES,
        "Hit@1 by contrasts seen",
        [Panel(title, series) for title, series in panels.items()],
        "Hit@1, with 95 % interval",
        "contrasts seen",
        columns=2,
    )
    return Picture("learning-curve", "Hit@1 by how many contrasts a user has seen; the table has the numbers.", chart)
