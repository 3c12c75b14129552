"""All results of the file: by seed, and each with the command that repeats it."""

from evaluation.kept import Row
from evaluation.report.cells import COSTS, bounded, command, costs, number
from evaluation.report.document import Section, Table, Text
from evaluation.report.results import Results, label, slim_tokens, tau


def over_seeds(results: Results) -> Section | None:
    """The section of Hit@1 by seed; None if nothing was run with several seeds."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in results.rows:
        groups.setdefault((row.data, row.candidates, label(row), row.users), []).append(row)
    rows = []
    for (data, candidates, arm, users), found in groups.items():
        if len(found) > 1:
            hits = [row.measures["hit_at_1"] for row in found]
            seeds = ", ".join(str(row.seed) for row in found)
            rows.append(
                [
                    *(str(data), str(candidates), str(arm), f"{users:,}", seeds),
                    *(number(sum(hits) / len(hits)), number(min(hits)), number(max(hits))),
                ]
            )
    if not rows:
        return None
    head = ["data", "candidates", "arm", "users", "seeds", "mean H@1", "lowest", "highest"]
    return Section("The same with other seeds", [Table(head, rows, words=3)])


def every(results: Results) -> Section:
    """The section of each result with its cost and command."""
    rows = [
        [
            *(row.data, row.candidates, row.arm, str(tau(row)), str(slim_tokens(row)), f"{row.users:,}", str(row.seed)),
            *(bounded(row), *costs(row), row.version, f"{row.finished_at:%Y-%m-%d %H:%M}", f"`{command(row)}`"),
        ]
        for row in results.rows
    ]
    head = [
        *("data", "candidates", "arm", "tau", "slim tokens", "users", "seed", "H@1 [95 %]", *COSTS),
        *("version", "finished, UTC", "command"),
    ]
    note = (
        "Seconds are of training and ranking; calls and tokens are of ranking. The commands are for the directory in "
        "which the data sets' folders are."
    )
    return Section("Every result, and the command that repeats it", [Text(note), Table(head, rows, words=3)])
