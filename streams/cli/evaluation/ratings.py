"""`sager eval ratings`: does it help to know how somebody rated what they took?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.extras import need_eval
from streams.cli.options import AsJson
from streams.cli.output import console, print_json_line, row, table

if TYPE_CHECKING:
    from evaluation.ratings import Result

USERS, CHOICES = 300, 10


def ratings(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with the data set's files; its interactions have ratings.")],
    candidates: Annotated[
        str, typer.Option(help="Who stands beside the taken item: uniform, popular or exposed.", metavar="LISTS")
    ] = "uniform",
    users: Annotated[int, typer.Option(min=2, help="How many users.", metavar="N")] = USERS,
    choices: Annotated[int, typer.Option(min=1, help="Of each user, the first ones.", metavar="N")] = CHOICES,
    seed: Annotated[int, typer.Option(help="Of the sample and the draws.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Rank what users took next by what they took, by how they rated it, and by both, and see whether ratings help.

    Three skills hear of the same items: that they were taken (visits), their rating as a signal from -1 to 1 (rated),
    or both. Before each further item, it is ranked among ten, by the skill alone and with what the community says.
    liked: only what was rated in the upper half of the scale is looked for.

    With --json: one object per arm and line, with the difference to visits alone and its 95 % interval over users.
    """
    from evaluation.stream.lists import Lists  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    need_eval("numpy", "scipy")
    from evaluation.ratings import play  # noqa: PLC0415

    try:
        lists = Lists(candidates)
    except ValueError as error:
        told = ", ".join(Lists)
        raise typer.BadParameter(f"{candidates!r} is none of {told}", ctx, param_hint="--candidates") from error
    with Stages() as stages:
        found = play(
            data,
            lists,
            users,
            choices,
            seed,
            lambda done, total, stage="reading": stages.at(stage, done, total),
        )
    if as_json:
        for each in found:
            print_json_line(
                {
                    "data": data.resolve().name,
                    "candidates": lists.value,
                    "targets": each.targets.value,
                    "by": each.by.value,
                    "arm": each.arm.value,
                    "users": each.users,
                    "choices": each.choices,
                    "hit_at_1": round(each.hit_at_1, 4),
                    "minus_visits": None if each.difference is None else round(each.difference, 4),
                    "ci95": None if each.ci95 is None else [round(bound, 4) for bound in each.ci95],
                    "seed": seed,
                }
            )
    else:
        _show(found, data.resolve().name, lists.value, seed)


def _show(found: "list[Result]", data: str, lists: str, seed: int) -> None:
    made = table(
        *("looked for", "by", "heard", "users", "choices", "Hit@1", "less visits [95 %]"),
        title=f"{data}, {lists} lists, seed {seed}",
        caption="each user counts the same; intervals: bootstrap over users",
    )
    for each in found:
        less = ""
        if each.difference is not None and each.ci95 is not None:
            less = "{:+.3f} [{:+.3f}, {:+.3f}]".format(each.difference, *each.ci95)
        row(
            made,
            [
                *(each.targets.value, each.by.value, each.arm.value, f"{each.users:,}", f"{each.choices:,}"),
                *(f"{each.hit_at_1:.3f}", less),
            ],
        )
    console().print(made)
