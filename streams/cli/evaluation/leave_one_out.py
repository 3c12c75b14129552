"""`sager eval`: the ranking quality of skills, by the paper's protocol."""

import asyncio
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.evaluation import FOLDER, REQUIRED_EXTRA, Budget, Domain, Seed, choices_of, group, print_lines
from streams.cli.options import AsJson, examples, require_extra, settings
from streams.cli.output import ProgressBars, note

RESULTS, REPLIES = FOLDER / "quality.jsonl", "replies.duckdb"

Candidates = Annotated[str, typer.Option(help="How the nine others are drawn: uniform, popular.")]
Results = Annotated[Path, typer.Option(help="The file of JSON lines for the results.", metavar="FILE")]


@group.callback()
def evaluate(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="The data set, as for `sager import`.", metavar="DIR")] = None,
    arm: Annotated[str, typer.Option(help="Ways to rank, by comma; all compare with the first.", metavar="NAME")] = "",
    candidates: Candidates = "uniform",
    users: Annotated[int | None, typer.Option(min=2, help="Number of test users; all train.", metavar="N")] = None,
    seed: Seed = 0,
    domain: Domain = None,
    tau: Annotated[int, typer.Option(min=0, help="Last visits that come as choices.")] = 2,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Measure how well skills rank, against baselines.

    Each arm ranks users' held-out last choices among ten, without a model. docs/quality.md explains the protocol and
    the figures.
    """
    if ctx.invoked_subcommand is not None:
        return
    if data is None:
        raise typer.BadParameter("name the folder of the data set", ctx, param_hint="--data")
    require_extra(*REQUIRED_EXTRA)
    from evaluation.dataset import Negatives  # noqa: PLC0415
    from evaluation.leave_one_out import ARMS, add_result, run  # noqa: PLC0415
    from evaluation.split import read  # noqa: PLC0415

    kind = choices_of(candidates, Negatives, "--candidates", ctx)[0]
    names = choices_of(arm, ARMS, "--arm", ctx)
    split, answers = read(data, kind, users, seed, domain=domain)
    for reason, times in answers.notes.items():
        note(f"{times:,} {reason}")
    done = []
    with ProgressBars() as progress:
        for name in names:
            result = asyncio.run(run(ARMS[name].make(seed, tau), split, answers, seed, progress.update))
            add_result(results, result, split.fingerprint, {"tau": tau})
            done.append(result)
    first, *others = done
    differences = [None, *(result.minus(first) for result in others)]
    column = f"hit_at_1_less_{first.arm}"
    lines = [
        result.as_json() | {column: less and less.as_json()} for result, less in zip(done, differences, strict=True)
    ]
    print_lines(lines, as_json, f"{split.data}: {kind.value} negatives")


@group.command(epilog=examples("sager eval paper --data yelp/ --data goodreads/ --users 200 --report paper.md"))
def paper(
    ctx: typer.Context,
    data: Annotated[list[Path], typer.Option(help="Data sets, as for `sager import`.", metavar="DIR")],
    arm: Annotated[str | None, typer.Option(help="By comma. [default: all]", metavar="NAME")] = None,
    candidates: Candidates = "uniform",
    users: Annotated[int, typer.Option(min=2, help="Number of test users; all train.", metavar="N")] = 1_000,
    seed: Seed = 0,
    domain: Domain = None,
    budget_calls: Budget = None,
    template_facets: Annotated[
        bool, typer.Option(help="Write the facets without the model, as the worker does.")
    ] = False,
    results: Results = RESULTS,
    report: Annotated[Path | None, typer.Option(help="Write all tables here, as Markdown.", metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat the paper's experiments: the mode `paper`, and parts of it.

    Each arm plays rounds of warm-up, freezes its skills and ranks users' held-out last choices among ten. The model of
    SAGER_LLM_* writes facets, reasons, extracts and ranks; without an endpoint rules do, and arms that need a model are
    left out. Replies are cached next to the results: an interrupted run continues. docs/quality.md explains the arms.
    """
    require_extra(*REQUIRED_EXTRA)
    from evaluation.dataset import Negatives  # noqa: PLC0415
    from evaluation.leave_one_out import add_result  # noqa: PLC0415
    from evaluation.paper import arms  # noqa: PLC0415
    from evaluation.paper import report as reports  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415
    from evaluation.split import read  # noqa: PLC0415

    kind = choices_of(candidates, Negatives, "--candidates", ctx)[0]
    names = choices_of(arm, arms.ARMS, "--arm", ctx) if arm else list(arms.ARMS)
    used, done = settings(), []
    asks = arms.has_endpoint(used)
    note(f"by the model {used.llm_model}" if asks else "no endpoint is set: by rules alone, without any model")
    writer = "model" if asks and not template_facets else "template"
    replies = Replies(results.with_name(REPLIES), budget_calls) if asks else None
    with closing(replies) if replies else nullcontext(), ProgressBars() as progress:
        for folder in data:
            split, answers = read(folder, kind, users, seed, domain=domain)
            playing = arms.evaluate(
                split, answers, names, used, replies, seed, progress.update, facets_by_model=not template_facets
            )
            measured = asyncio.run(playing)
            done.append(measured)
            for result in measured.results.values():
                options = {"by": measured.model or "rules", "rank_orders": used.rank_orders, "facets": writer}
                add_result(results, result, split.fingerprint, options)
            print_lines(reports.rows_of(measured), as_json, f"{split.data}: {kind.value} negatives")
            if measured.left_out:
                note(f"not run {'with' if asks else 'without'} a model: {', '.join(measured.left_out)}")
    if report is not None:
        report.write_text(reports.report(done, seed, kind.value), encoding="utf-8")
