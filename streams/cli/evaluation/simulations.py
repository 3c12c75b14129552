"""`sager eval stream` and `model`: users choose one item after another."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.evaluation.common import EXTRA, FOLDER, Budget, Data, Domain, Seed, choices_of, print_lines
from streams.cli.options import AsJson, require_extra, settings
from streams.cli.output import ProgressBars, json_text

REPLIES = "model-replies.duckdb"
HISTORY = 3  # first visits of a user that are history
POOL = 700  # users drawn; those with enough choices take part
CONCURRENCY = 16  # users at once, with a model


def stream(
    ctx: typer.Context,
    data: Data,
    history: Annotated[
        str, typer.Option(help="Numbers of first visits that are history, by comma.", metavar="N")
    ] = f"{HISTORY}",
    candidates: Annotated[
        str, typer.Option(help="How others are drawn, by comma: uniform, popular, exposed.", metavar="LISTS")
    ] = "uniform",
    arm: Annotated[
        str, typer.Option(help="By comma: no-skill, prior, rules, sager.", metavar="NAME")
    ] = "no-skill,prior,rules,sager",
    by: Annotated[
        str, typer.Option(help="By comma: skill, mix (learned weights), fixed (start weights).", metavar="RANKER")
    ] = "mix",
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = 200,
    choices: Annotated[int, typer.Option(min=1, help="Of each user, the first ones.", metavar="N")] = 32,
    seed: Seed = 0,
    domain: Domain = None,
    as_json: AsJson = False,
) -> None:
    """Measure how skills learn from choice to choice, each among ten items.

    Skills and weights learn by the steps of the worker's agents, in this process: no broker is needed. Arms: no-skill
    (the community alone), prior (the frozen skill of the history), rules (one tier per choice), sager (the product).
    docs/quality.md explains the figures.
    """
    require_extra(*EXTRA)
    from evaluation.plans import ListKind, plans  # noqa: PLC0415
    from evaluation.skill_arms import STREAM_RULES, RankBy  # noqa: PLC0415
    from evaluation.stream import lines_of, simulate_user  # noqa: PLC0415

    kinds = choices_of(candidates, ListKind, "--candidates", ctx)
    rankers = choices_of(by, RankBy, "--by", ctx)
    lengths = history.split(",")
    if not all(length.strip().isdecimal() for length in lengths):
        raise typer.BadParameter(f"{history!r} is no number of visits", ctx, param_hint="--history")
    rules = [STREAM_RULES[name] for name in choices_of(arm, STREAM_RULES, "--arm", ctx)]
    visits = [int(length) for length in lengths]
    with ProgressBars() as progress:
        for plan in plans(data, kinds, visits, users, most=choices, seed=seed, domain=domain, progress=progress.update):
            results = [
                asyncio.run(simulate_user(rule, plan, rankers, seed, progress=progress.update)) for rule in rules
            ]
            for ranker in rankers:
                print_lines(lines_of(plan, results, ranker, seed), as_json)


def model(
    ctx: typer.Context,
    data: Data,
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = 70,
    sweeps: Annotated[
        int, typer.Option(min=0, help="The number of users who are ranked in all ways.", metavar="N")
    ] = 35,
    choices: Annotated[int, typer.Option(min=1, help="Of each user; users with fewer are left out.", metavar="N")] = 8,
    arm: Annotated[str | None, typer.Option(help="By comma. [default: all]", metavar="NAME")] = None,
    budget_calls: Budget = None,
    seed: Seed = 0,
    domain: Domain = None,
    places: Annotated[Path | None, typer.Option(help="Write every ranking's place here, as JSON.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the benefit of a model for skills, and the reverse.

    Before each choice, the endpoint of SAGER_LLM_* ranks the list with each arm's slim skill, then the arm learns from
    the choice. Replies are cached: an interrupted run continues where it was. docs/quality.md explains the arms.
    """
    require_extra(*EXTRA)
    from evaluation import model as with_model  # noqa: PLC0415
    from evaluation.plans import ListKind, full_plan  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415

    names = choices_of(arm, with_model.ARMS, "--arm", ctx) if arm else list(with_model.ARMS)
    with ProgressBars() as progress, closing(Replies(FOLDER / REPLIES, budget_calls)) as replies:
        plan = full_plan(
            data, users, choices, ListKind.POPULAR, HISTORY, POOL, seed=seed, domain=domain, progress=progress.update
        )
        playing = with_model.run(
            plan, settings(), replies, arms=names, swept=sweeps, concurrency=CONCURRENCY, progress=progress.update
        )
        found = asyncio.run(playing)
    if places is not None:
        places.write_text(json_text(found), encoding="utf-8")
    title = f"{found['data']}, {found['lists']} lists, {HISTORY} visits of history, {found['model']}"
    print_lines(with_model.lines_of(found), as_json, title)
