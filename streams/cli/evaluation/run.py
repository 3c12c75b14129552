"""`sager eval`: how well skills rank, by the paper's protocol, next to simpler ways."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.evaluation.figures import (
    EXTRA,
    FOLDER,
    INTERVALS,
    Budget,
    Domain,
    Seed,
    members,
    names_of,
    print_lines,
    print_table,
)
from streams.cli.evaluation.people import conversations, feedback
from streams.cli.evaluation.plays import model, stream
from streams.cli.options import AsJson, examples, need
from streams.cli.output import console, note, row, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.leave_one_out import Result
    from evaluation.split import Answers, Split
    from evaluation.warm_up import ArmOptions
    from streams.cli.progress import Stages

RESULTS = FOLDER / "quality.jsonl"
REPLIES = "replies.duckdb"


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        invoke_without_command=True,
        short_help="Measure how well skills rank, against baselines.",
        epilog=examples(
            "sager eval --data data/ --arm popularity,item-knn",
            "sager eval --data data/ --arm profile --candidates popular --users 500 --json",
            "sager eval stream --data data/ --candidates popular",
            "sager eval feedback --data pahf/ --replies structured",
            "sager eval conversations --invent people/",
        ),
    )
    group.callback()(evaluate)
    commands: dict[Callable[..., None], tuple[str, ...]] = {
        arms: ("sager eval arms",),
        stream: (
            "sager eval stream --data data/ --history 0,3,10 --candidates popular --users 400",
            "sager eval stream --data data/ --arm no-skill,sager --by skill,mix --json",
        ),
        feedback: ("sager eval feedback --data pahf/", "sager eval feedback --data pahf/ --ask --json"),
        model: ("sager eval model --data data/ --users 70 --sweeps 35",),
        conversations: (
            "sager eval conversations --data raw_data/",
            "sager eval conversations --invent people/ --held-out --json",
        ),
        report: ("sager eval report > report.md",),
    }
    for command, lines in commands.items():
        group.command(command.__name__, epilog=examples(*lines))(command)
    app.add_typer(group, name="eval")


def evaluate(
    ctx: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="The data set's folder, as of `sager import`.", metavar="DIR")
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Ways to rank, by comma; `sager eval arms`.", metavar="NAME")
    ] = None,
    candidates: Annotated[str, typer.Option(help="How the nine others are drawn: uniform, popular.")] = "uniform",
    users: Annotated[int | None, typer.Option(min=2, help="Test so many users; all train.", metavar="N")] = None,
    seed: Seed = 0,
    baseline: Annotated[str | None, typer.Option(help="Compare with it. [default: the first]", metavar="NAME")] = None,
    domain: Domain = None,
    tau: Annotated[int, typer.Option(min=0, help="Rounds of warm-up in which skills evolve.")] = 2,
    budget_calls: Budget = None,
    results: Annotated[Path, typer.Option(help="The file of JSON lines for the results.", metavar="FILE")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Hold out each user's last choice, train every arm on the rest, and measure where it ranks that choice of ten.

    Nine items that the user never met stand beside it: those of eval_candidates.jsonl.gz (uniform) or
    eval_candidates_pop.jsonl.gz (popular) if the folder has that file, else drawn, popular ones by how often they are
    met.

    Arms with an LLM use the worker's endpoint and SAGER_RANKER. Its replies are kept in replies.duckdb beside the
    results: a run that has stopped continues where it was, and a repeated one makes no calls.

    With --json: one object per arm and line, as each is done; cached_calls are those of earlier runs.
    """
    if ctx.invoked_subcommand is not None:
        return
    if data is None:
        raise typer.BadParameter("name the folder of the data set with it", ctx, param_hint="--data")
    names = names_of(arm or ())
    if not names:
        raise typer.BadParameter("name at least one; `sager eval arms` lists them", ctx, param_hint="--arm")
    need(*EXTRA)
    from evaluation.dataset import Negatives  # noqa: PLC0415
    from evaluation.exceptions import UnknownArm  # noqa: PLC0415
    from evaluation.leave_one_out import ARMS, known  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415
    from evaluation.split import read  # noqa: PLC0415
    from evaluation.warm_up import ArmOptions  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    [kind] = members(Negatives, [candidates], "--candidates", ctx)[:1]
    try:
        names = known(names)
    except UnknownArm as error:
        raise typer.BadParameter(str(error), ctx, param_hint="--arm") from error
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise typer.BadParameter(f"{first} is not among the arms of --arm", ctx, param_hint="--baseline")
    split, answers = read(data, kind, users, seed, domain=domain)
    for reason, times in answers.notes.items():
        note(f"{times:,} {reason}")
    asks = any(ARMS[name].asks for name in names)
    replies = Replies(results.with_name(REPLIES), budget_calls) if asks else None
    done = []
    with closing(replies) if replies else nullcontext(), Stages() as stages:
        for name in names:
            result = _run(name, split, answers, ArmOptions(seed, tau, replies=replies), stages, results)
            done.append(result)
            if as_json:
                print_lines([result.as_json()])
    if not as_json:
        title = f"{split.data}: {len(split.cases):,} users, {kind.value} negatives, seed {seed}"
        _show(done, next(result for result in done if result.arm == first), title)


def _run(
    name: str, split: "Split", answers: "Answers", options: "ArmOptions", stages: "Stages", results: Path
) -> "Result":
    """The result of an arm, which is kept; the costs of a model go to stderr."""
    from evaluation.leave_one_out import ARMS, run  # noqa: PLC0415
    from evaluation.results import add  # noqa: PLC0415
    from streams.settings import Settings  # noqa: PLC0415

    made = ARMS[name].make(options)
    result = asyncio.run(run(made, split, answers, options.seed, stages.at, options.concurrency))
    recorded: dict[str, object] = {"tau": options.tau, "slim_tokens": options.slim_tokens}
    if result.cost.calls:
        settings = Settings()
        recorded |= {"model": settings.llm_model, "ranker": settings.ranker.value}
        dollars = settings.llm_cost(result.cost.prompt_tokens, result.cost.completion_tokens)
        note(f"{name}: {result.cost}{f', {dollars:.4f} USD' if dollars else ''}")
        if result.cost.unusable:
            note(f"{name}: {result.cost.unusable:,} answers were unusable: those rankings stay at chance")
    add(results, result, split.fingerprint, recorded)
    return result


def _show(done: "Sequence[Result]", against: "Result", title: str) -> None:
    less = f"Hit@1 less {against.arm}"
    lines = []
    for result in done:
        difference = None if result is against else result.minus(against)
        lines.append(result.as_json() | {less: None if difference is None else difference.as_json()})
    columns = ["arm", "hit_at_1", "ci95_hit_at_1", "hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5"]
    print_table(lines, [*columns, less, "llm_calls", "prompt_tokens", "seconds"], title, INTERVALS)


def arms() -> None:
    """List the arms that --arm knows."""
    from evaluation.leave_one_out import ARMS  # noqa: PLC0415

    made = table("arm", "description")
    for name, entry in ARMS.items():
        row(made, [name, entry.description])
    console().print(made)


def report(
    results: Annotated[Path, typer.Option(help="The file with the results.", metavar="FILE")] = RESULTS,
    baseline: Annotated[str, typer.Option(help="Compare the others with this arm.", metavar="NAME")] = "no-skill",
) -> None:
    """Print the kept results as Markdown.

    One table per data set, candidates, seed and sample of users, with the newest result of each arm and its options.
    """
    need(*EXTRA)
    from evaluation.results import markdown, read  # noqa: PLC0415

    sys.stdout.write(markdown(read(results), baseline))
