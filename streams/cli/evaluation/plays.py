"""`sager eval stream` and `sager eval model`: users choose one item after another."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.evaluation.figures import (
    EXTRA,
    FOLDER,
    INTERVALS,
    Budget,
    Data,
    Domain,
    Seed,
    members,
    names_of,
    print_lines,
    print_table,
)
from streams.cli.options import AsJson, need, settings
from streams.cli.output import json_text

REPLIES = "model-replies.duckdb"
POOL = 700
"""Users drawn; those with enough choices play."""
CONCURRENCY = 16
"""Users under way at once, with a model."""


def stream(
    ctx: typer.Context,
    data: Data,
    history: Annotated[str, typer.Option(help="First visits that are history; several by comma.", metavar="N")] = "3",
    candidates: Annotated[
        str,
        typer.Option(help="How the other items are drawn, by comma: uniform, popular, exposed.", metavar="LISTS"),
    ] = "uniform",
    arm: Annotated[
        str, typer.Option(help="By comma: no-skill, prior, rules, sager.", metavar="NAME")
    ] = "no-skill,prior,rules,sager",
    by: Annotated[
        str,
        typer.Option(
            help="By comma: skill (alone), mix (with learned weights), fixed (with start weights).", metavar="RANKER"
        ),
    ] = "mix",
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = 200,
    choices: Annotated[int, typer.Option(min=1, help="Of each user, the first ones.", metavar="N")] = 32,
    seed: Seed = 0,
    domain: Domain = None,
    as_json: AsJson = False,
) -> None:
    """Measure how skills learn from choice to choice.

    A user's first visits are history, the following ones are choices among ten. The nine others are items that the user
    never takes, drawn uniformly, by popularity (popular), or as a recommender would show them (exposed). Skills and
    weights learn by the steps of the worker's agents, in this process: no broker is needed.

    Arms: no-skill (the community alone), prior (the frozen skill of the history), rules (one tier a choice), sager (the
    product as it ships). docs/quality.md explains the figures of --json.
    """
    need(*EXTRA)
    from evaluation.exceptions import UnknownArm  # noqa: PLC0415
    from evaluation.measures import BUCKETS  # noqa: PLC0415
    from evaluation.plans import Lists, plans  # noqa: PLC0415
    from evaluation.skill_arms import By, known  # noqa: PLC0415
    from evaluation.stream import lines_of, play  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    kinds = members(Lists, [candidates], "--candidates", ctx)
    rankers = members(By, [by], "--by", ctx)
    lengths = names_of([history])
    if not lengths or not all(length.isdecimal() for length in lengths):
        raise typer.BadParameter(f"{history!r} is no number of visits", ctx, param_hint="--history")
    try:
        rules = known(names_of([arm]))
    except UnknownArm as error:
        raise typer.BadParameter(str(error), ctx, param_hint="--arm") from error
    if not rules:
        raise typer.BadParameter("name at least one", ctx, param_hint="--arm")
    with Stages() as stages:
        made = plans(
            data,
            kinds,
            [int(length) for length in lengths],
            users,
            most=choices,
            seed=seed,
            domain=domain,
            progress=stages.at,
        )
        for plan in made:
            results = [asyncio.run(play(rule, plan, rankers, seed, progress=stages.at)) for rule in rules]
            for ranker in rankers:
                lines = lines_of(plan, results, ranker, seed)
                if as_json:
                    print_lines(lines)
                    continue
                title = f"{plan.data}, {plan.lists.value} lists, {plan.history} visits of history, by {ranker.value}: "
                title += f"{lines[0]['users']:,} users, {lines[0]['choices']:,} choices, seed {seed}"
                first = rules[0].name
                columns = ["arm", "hit_at_1", "ndcg_at_5", "mrr", f"minus/{first}", "growth", "cpu_ms_per_choice"]
                print_table(lines, columns, title, f"{INTERVALS}; growth: over prior, from 1 to 17 choices and more")
                columns = ["arm", *(f"by_seen/{name}" for name in BUCKETS)]
                print_table(lines, columns, "Hit@1 by choices seen before")


def model(
    ctx: typer.Context,
    data: Data,
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = 70,
    sweeps: Annotated[int, typer.Option(min=0, help="How many of them are ranked in all ways.", metavar="N")] = 35,
    choices: Annotated[int, typer.Option(min=1, help="Of each user; users with fewer are left out.", metavar="N")] = 8,
    history: Annotated[int, typer.Option(min=0, help="How many of a user's first visits are history.")] = 3,
    candidates: Annotated[str, typer.Option(help="The items beside the taken one: uniform, popular.")] = "popular",
    arm: Annotated[str | None, typer.Option(help="By comma. [default: all]", metavar="NAME")] = None,
    budget_calls: Budget = None,
    seed: Seed = 0,
    domain: Domain = None,
    places: Annotated[Path | None, typer.Option(help="Write every ranking's place here, as JSON.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the benefit of a model for skills, and of skills for a model.

    Before each choice, the endpoint of SAGER_LLM_* ranks the list with each arm's slim skill; the skill alone ranks it
    too. Then the arm learns from the choice. docs/quality-model.md explains the arms.

    Every reply is kept: a run that stopped continues where it was, and a repeated one makes no calls.
    """
    need(*EXTRA)
    from evaluation import model as with_model  # noqa: PLC0415
    from evaluation.dataset import Negatives  # noqa: PLC0415
    from evaluation.plans import Lists, full_plan  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    names = names_of([arm]) if arm else list(with_model.ARMS)
    if unknown := [name for name in names if name not in with_model.ARMS]:
        told = f"there is no arm {', '.join(unknown)}; there are: {', '.join(with_model.ARMS)}"
        raise typer.BadParameter(told, ctx, param_hint="--arm")
    [kind] = members(Negatives, [candidates], "--candidates", ctx)[:1]
    with Stages() as stages, closing(Replies(FOLDER / REPLIES, budget_calls)) as replies:
        plan = full_plan(data, users, choices, Lists(kind), history, POOL, seed=seed, domain=domain, progress=stages.at)
        found = asyncio.run(
            with_model.run(
                plan, settings(), replies, arms=names, swept=sweeps, concurrency=CONCURRENCY, progress=stages.at
            )
        )
    if places is not None:
        places.write_text(json_text(found), encoding="utf-8")
    lines = with_model.lines_of(found)
    if as_json:
        print_lines(lines)
        return
    title = f"{found['data']}, {found['lists']} lists, {history} visits of history, {found['model']}"
    print_table(
        lines, ["arm", "by", "choices", "hit_at_1", "ci95_hit_at_1", "ndcg_at_5", "mrr", "minus"], title, INTERVALS
    )
