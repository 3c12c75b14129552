"""`sager eval`: the ranking quality of skills, by the paper's protocol."""

import asyncio
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.evaluation import FOLDER, REQUIRED_EXTRA, Budget, Domain, Seed, choices_of, group, print_lines
from streams.cli.options import AsJson, require_extra
from streams.cli.output import ProgressBars, note

if TYPE_CHECKING:
    from evaluation.leave_one_out import Result

RESULTS = FOLDER / "quality.jsonl"
REPLIES = "replies.duckdb"


@group.callback()
def evaluate(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="The data set, as for `sager import`.", metavar="DIR")] = None,
    arm: Annotated[str, typer.Option(help="Ways to rank, by comma; all compare with the first.", metavar="NAME")] = "",
    candidates: Annotated[str, typer.Option(help="How the nine others are drawn: uniform, popular.")] = "uniform",
    users: Annotated[int | None, typer.Option(min=2, help="Number of test users; all train.", metavar="N")] = None,
    seed: Seed = 0,
    domain: Domain = None,
    tau: Annotated[int, typer.Option(min=0, help="Rounds of warm-up in which skills evolve.")] = 2,
    budget_calls: Budget = None,
    results: Annotated[Path, typer.Option(help="The file of JSON lines for the results.", metavar="FILE")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Measure how well skills rank, against baselines.

    Each arm ranks users' held-out last choices among ten. Arms with an LLM use the worker's endpoint and SAGER_RANKER.
    Replies are cached next to the results: an interrupted run continues where it was. docs/quality.md explains the
    protocol and the figures.
    """
    if ctx.invoked_subcommand is not None:
        return
    if data is None:
        raise typer.BadParameter("name the folder of the data set", ctx, param_hint="--data")
    require_extra(*REQUIRED_EXTRA)
    from evaluation.dataset import Negatives  # noqa: PLC0415
    from evaluation.leave_one_out import ARMS, add_result, run  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415
    from evaluation.split import read  # noqa: PLC0415
    from evaluation.warm_up import ArmOptions  # noqa: PLC0415

    kind = choices_of(candidates, Negatives, "--candidates", ctx)[0]
    names = choices_of(arm, ARMS, "--arm", ctx)
    split, answers = read(data, kind, users, seed, domain=domain)
    for reason, times in answers.notes.items():
        note(f"{times:,} {reason}")
    asks = any(ARMS[name].asks for name in names)
    replies = Replies(results.with_name(REPLIES), budget_calls) if asks else None
    options, done = ArmOptions(seed, tau, replies=replies), []
    with closing(replies) if replies else nullcontext(), ProgressBars() as progress:
        for name in names:
            made = ARMS[name].make(options)
            result = asyncio.run(run(made, split, answers, seed, progress.update, options.concurrency))
            recorded = {"tau": tau, "slim_tokens": options.slim_tokens, **_note_cost(result)}
            add_result(results, result, split.fingerprint, recorded)
            done.append(result)
            if as_json:  # at once: an arm may take hours
                print_lines([result.as_json()], as_json)
    if not as_json:
        first, *others = done
        differences = [None, *(result.minus(first) for result in others)]
        column = f"hit_at_1_less_{first.arm}"
        lines = [
            result.as_json() | {column: less and less.as_json()} for result, less in zip(done, differences, strict=True)
        ]
        print_lines(lines, as_json, f"{split.data}: {kind.value} negatives")


def _note_cost(result: "Result") -> dict[str, object]:
    """Print the costs of an arm's model; return its name and ranker."""
    if not result.cost.calls:
        return {}
    from streams.settings import Settings  # noqa: PLC0415

    settings = Settings()
    dollars = settings.llm_cost(result.cost.prompt_tokens, result.cost.completion_tokens)
    note(f"{result.arm}: {result.cost}{f', {dollars:.4f} USD' if dollars else ''}")
    if result.cost.unusable:
        note(f"{result.arm}: {result.cost.unusable:,} answers were unusable: those rankings stay at chance")
    return {"model": settings.llm_model, "ranker": settings.ranker}
