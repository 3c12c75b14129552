"""`sager eval model`: what a model adds to skills, and what skills add to a model that ranks."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.cli.evaluation.report import RESULTS
from streams.cli.extras import need_eval
from streams.cli.options import AsJson, settings
from streams.cli.output import console, json_text, print_json_line, row, table

REPLIES = "model-replies.duckdb"


def model(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with the data set's files, as of `sager import`.")],
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = 70,
    sweeps: Annotated[
        int, typer.Option(min=0, help="How many of them are ranked for in all other ways too.", metavar="N")
    ] = 35,
    choices: Annotated[int, typer.Option(min=1, help="Of each user; who has fewer is left out.", metavar="N")] = 8,
    history: Annotated[int, typer.Option(min=0, help="How many of a user's first visits are history.")] = 3,
    candidates: Annotated[str, typer.Option(help="Who stands beside the taken item: uniform, popular.")] = "popular",
    arm: Annotated[str | None, typer.Option(help="By comma. [default: all]", metavar="NAME")] = None,
    pool: Annotated[int, typer.Option(min=2, help="Users drawn, of whom those with enough choices play.")] = 700,
    concurrency: Annotated[int, typer.Option(min=1, help="Users under way at once.")] = 16,
    budget_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more LLM calls than these; kept replies cost none.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the sample, the draws and the presentation.")] = 0,
    domain: Annotated[
        str | None, typer.Option(help="What the items are, instead of what they say themselves.", metavar="DOMAIN")
    ] = None,
    places: Annotated[Path | None, typer.Option(help="Write every ranking's place here, as JSON.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play the same choices with skills that a model evolves, that counts evolve, and that both do.

    Before each choice, the endpoint of SAGER_LLM_* ranks the list with each arm's slim skill, by the first token; the
    skill alone ranks it too, without the endpoint. Then the arm learns from the choice. For some users it also ranks
    listwise and pointwise, with longer and shorter slim skills, with skills frozen after 0 to 3 choices, and for three
    other hosts, with a slim skill and without.

    Every reply is kept beside the other results: a run that stopped goes on where it was, and one that is repeated asks
    nothing. With --json: one object per arm and line.
    """
    need_eval("numpy", "scipy")
    from evaluation.model.arms import ARMS  # noqa: PLC0415
    from evaluation.model.figures import Places  # noqa: PLC0415
    from evaluation.model.plan import full_plan  # noqa: PLC0415
    from evaluation.model.run import run  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415
    from evaluation.stream.lists import Lists  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    names = [name.strip() for name in arm.split(",")] if arm else list(ARMS)
    if unknown := [name for name in names if name not in ARMS]:
        raise typer.BadParameter(
            f"there is no arm {', '.join(unknown)}; there are: {', '.join(ARMS)}", ctx, param_hint="--arm"
        )
    if candidates not in (Lists.UNIFORM, Lists.POPULAR):
        raise typer.BadParameter(f"{candidates!r} is none of uniform, popular", ctx, param_hint="--candidates")
    with Stages() as stages:
        plan = full_plan(
            data,
            users,
            choices,
            lists=Lists(candidates),
            history=history,
            pool=pool,
            seed=seed,
            domain=domain,
            progress=lambda done, total, stage="reading": stages.at(stage, done, total),
        )
        with closing(Replies(RESULTS.with_name(REPLIES), calls=budget_calls)) as replies:
            found = asyncio.run(
                run(
                    plan,
                    settings(),
                    replies,
                    arms=names,
                    swept=sweeps,
                    concurrency=concurrency,
                    tell=lambda done, total: stages.at("users", done, total),
                )
            )
    if places is not None:
        places.write_text(json_text(found), encoding="utf-8")
    told = Places([found])
    lines = [_line(told, found, name, by) for by in ("model", "skill") for name in told.arms(by)]
    if as_json:
        for line in lines:
            print_json_line(line)
    else:
        _show(lines, found)


def _line(told: Any, found: dict[str, Any], arm: str, by: str) -> dict[str, Any]:
    """An arm's figures; what it is compared with is the arm whose part it changes, or else no skill and the prior."""
    from evaluation.model.arms import NO_SKILL, PRIOR  # noqa: PLC0415

    figures = told.figures(arm, by)
    base = arm.partition("+")[0] if "+" in arm else NO_SKILL if by == "model" else PRIOR
    compared = base != arm and base in told.arms(by)
    lead = told.minus(arm, base, by) if compared else None
    return {
        "data": found["data"],
        "arm": arm,
        "by": by,
        "users": figures.users,
        "choices": figures.choices,
        "hit_at_1": round(figures.hit_at_1, 4),
        "ci95_hit_at_1": [round(bound, 4) for bound in figures.ci95],
        "ndcg_at_5": round(figures.ndcg_at_5, 4),
        "mrr": round(figures.mrr, 4),
        "early": round(figures.early, 4),
        "late": round(figures.late, 4),
        "minus": None
        if lead is None
        else {base: {"difference": round(lead.difference, 4), "ci95": [round(bound, 4) for bound in lead.ci95]}},
        "unusable": found["unusable"].get(arm, 0),
    }


def _show(lines: list[dict[str, Any]], found: dict[str, Any]) -> None:
    made = table(
        *("arm", "ranked by", "choices", "Hit@1", "NDCG@5", "MRR", "difference in Hit@1"),
        title=f"{found['data']}, {found['lists']} lists, {found['history']} visits of history, {found['model']}",
        caption="intervals: 95 %, bootstrap over users; differences on the same choices",
    )
    for line in lines:
        low, high = line["ci95_hit_at_1"]
        differences = [
            "{:+.3f} [{:+.3f}, {:+.3f}] to {}".format(each["difference"], *each["ci95"], base)
            for base, each in (line["minus"] or {}).items()
        ]
        hits = f"{line['hit_at_1']:.3f} [{low:.3f}, {high:.3f}]"
        numbers = [f"{line['ndcg_at_5']:.3f}", f"{line['mrr']:.3f}"]
        row(made, [line["arm"], line["by"], f"{line['choices']:,}", hits, *numbers, "".join(differences)])
    console().print(made)
