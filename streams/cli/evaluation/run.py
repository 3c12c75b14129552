"""`sager eval`: how well skills rank, by the paper's protocol, next to simpler ways."""

from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.draw import Negatives
from streams.cli.evaluation.conversations import conversations
from streams.cli.evaluation.feedback import feedback
from streams.cli.evaluation.model import model
from streams.cli.evaluation.online import online
from streams.cli.evaluation.ratings import ratings
from streams.cli.evaluation.report import RESULTS, report
from streams.cli.evaluation.stream import stream
from streams.cli.extras import need_eval
from streams.cli.options import AsJson, examples
from streams.cli.output import console, note, print_json_line, row, table

if TYPE_CHECKING:
    from evaluation.arms import ArmOptions
    from evaluation.case import Split
    from evaluation.replies import Replies
    from evaluation.run import Result
    from evaluation.store import Store
    from streams.cli.progress import Stages

REPLIES = "replies.duckdb"
_SURE = 0.001
"""Smaller p are told as such."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        invoke_without_command=True,
        short_help="Measure how well skills rank, against baselines.",
        epilog=examples(
            "sager eval --data data/ --arm popularity,item-knn",
            "sager eval --data data/ --arm profile --candidates popular --users 500 --json",
            "sager eval arms",
            "sager eval stream --data data/ --candidates popular",
            "sager eval online --data data/ --users 60",
            "sager eval feedback --data pahf/ --replies structured",
            "sager eval conversations --invent people/",
            "sager eval report",
        ),
    )
    group.callback()(evaluate)
    group.command("arms", epilog=examples("sager eval arms"))(arms)
    group.command(
        "online",
        short_help="How skills grow while they are used.",
        epilog=examples("sager eval online --data data/ --users 60", "sager eval online --data data/ --json"),
    )(online)
    group.command(
        "stream",
        short_help="How skills learn from choice to choice.",
        epilog=examples(
            "sager eval stream --data data/ --history 0,3,10 --candidates popular --users 400",
            "sager eval stream --data data/ --arm no-skill,sager --by skill,mix --json",
        ),
    )(stream)
    group.command(
        "feedback",
        short_help="How soon a person is understood who answers in words.",
        epilog=examples("sager eval feedback --data pahf/", "sager eval feedback --data pahf/ --ask --json"),
    )(feedback)
    group.command(
        "ratings",
        short_help="Whether ratings tell more than visits.",
        epilog=examples("sager eval ratings --data data/", "sager eval ratings --data data/ --users 400 --json"),
    )(ratings)
    group.command(
        "model",
        short_help="What a model adds to skills, and skills to a model.",
        epilog=examples(
            "sager eval model --data data/ --users 70 --sweeps 35",
            "sager eval model --data data/ --arm statinit,counts,counts-and-model --sweeps 0 --json",
        ),
    )(model)
    group.command(
        "conversations",
        short_help="What is learned from conversations, and what is not kept.",
        epilog=examples(
            "sager eval conversations --data raw_data/",
            "sager eval conversations --invent people/ --held-out --json",
        ),
    )(conversations)
    group.command("report", epilog=examples("sager eval report", "sager eval report --out report/"))(report)
    app.add_typer(group, name="eval")


def evaluate(
    ctx: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="The folder with the data set's files, as of `sager import`.", metavar="DIR")
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Ways to rank, by comma or repeated; `sager eval arms`.", metavar="NAME")
    ] = None,
    candidates: Annotated[Negatives, typer.Option(help="How the nine others are chosen.")] = Negatives.UNIFORM,
    users: Annotated[
        int | None, typer.Option(min=2, help="Test a sample of the users; all train.", metavar="N")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the sample, the draws and the presentation.")] = 0,
    baseline: Annotated[
        str | None, typer.Option(help="Compare with this arm. [default: the first]", metavar="NAME")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="What the items are, instead of what they say themselves.", metavar="DOMAIN")
    ] = None,
    tau: Annotated[int, typer.Option(min=0, help="Rounds of warm-up in which skills evolve.")] = 2,
    slim_tokens: Annotated[int, typer.Option(min=1, help="The budget of a slim skill.")] = 30,
    concurrency: Annotated[int, typer.Option(min=1, help="Rankings, and users in warm-up, under way at once.")] = 16,
    budget_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more LLM calls than these; kept replies cost none.")
    ] = None,
    budget_tokens: Annotated[int | None, typer.Option(min=1, help="Stop once so many LLM tokens are spent.")] = None,
    results: Annotated[Path, typer.Option(help="The DuckDB file that keeps the results.", metavar="FILE")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Hold out each user's last choice, train every arm on the rest, and measure where it ranks that choice of ten.

    Nine items that the user never met stand beside it: those of eval_candidates.jsonl.gz (uniform) or
    eval_candidates_pop.jsonl.gz (popular) where the folder has that file, else drawn anew: uniform gives every item
    the same chance, popular one by how often it is met, so that popularity itself is worth nothing.

    Arms with an LLM ask the worker's endpoint: OPENAI_BASE_URL, OPENAI_API_KEY, SAGER_LLM_MODEL, SAGER_RANKER. Its
    replies are kept in replies.duckdb beside the results: a run that has stopped goes on where it was, and one that is
    repeated asks nothing.

    With --json: one object per arm and line, as each is done. LLM calls and tokens are those of warm-up and ranking,
    whichever run has paid for them; cached_calls are those of earlier runs.
    """
    if ctx.invoked_subcommand is not None:
        return
    if data is None:
        raise typer.BadParameter("name the folder of the data set with it", ctx, param_hint="--data")
    names = [name.strip() for each in arm or () for name in each.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("name at least one; `sager eval arms` lists them", ctx, param_hint="--arm")
    from evaluation.arms import ARMS, ArmOptions, known  # noqa: PLC0415
    from evaluation.exceptions import UnknownArm  # noqa: PLC0415

    try:
        names = known(names)
    except UnknownArm as error:
        raise typer.BadParameter(str(error), ctx, param_hint="--arm") from error
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise typer.BadParameter(f"{first} is not among the arms of --arm", ctx, param_hint="--baseline")
    need_eval("numpy", "scipy")
    from evaluation.split import read  # noqa: PLC0415
    from evaluation.store import Store  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    store = Store(results)
    split, answers = read(data, candidates, users, seed, domain=domain)
    for reason, times in answers.notes.items():
        note(f"{times:,} {reason}")
    with_llm = any(ARMS[name].asks for name in names)
    replies = _replies(results.with_name(REPLIES), budget_calls, budget_tokens) if with_llm else None
    options = ArmOptions(seed=seed, tau=tau, slim_tokens=slim_tokens, concurrency=concurrency, replies=replies)
    done = []
    with closing(replies) if replies else nullcontext(), Stages() as stages:
        for result in _run(names, split, answers, options, candidates, concurrency, stages, store):
            done.append(result)
            if as_json:
                _print_line(result)
    if not as_json:
        _show(done, first)


def arms() -> None:
    """List the arms that --arm knows."""
    from evaluation.arms import ARMS  # noqa: PLC0415

    made = table("arm", "what it does")
    for name, entry in ARMS.items():
        row(made, [name, entry.what + (f" (needs the extra {entry.needs})" if entry.needs else "")])
    console().print(made)


def _replies(path: Path, calls: int | None, tokens: int | None) -> "Replies":
    """The kept replies of LLMs."""
    from evaluation.replies import Replies  # noqa: PLC0415

    return Replies(path, calls, tokens)


def _run(
    names: Sequence[str],
    split: "Split",
    answers: dict[str, str],
    options: "ArmOptions",
    candidates: Negatives,
    concurrency: int,
    stages: "Stages",
    store: "Store",
) -> Iterator["Result"]:
    """The results of the arms, each kept before it is told."""
    import asyncio  # noqa: PLC0415

    from evaluation.arms import make  # noqa: PLC0415
    from evaluation.run import Setting, run  # noqa: PLC0415
    from evaluation.split import fingerprint  # noqa: PLC0415

    setting, settings = Setting(candidates.value, options.seed), options.told()
    for name in names:
        result = asyncio.run(run(make(name, options), split, answers, setting, stages.at, concurrency))
        _tell_cost(result)
        store.add(result, fingerprint(split), settings | _model(name))
        yield result


def _model(name: str) -> dict[str, str]:
    """Which model and ranker the arm has been run with, if any."""
    from evaluation.arms import ARMS  # noqa: PLC0415
    from streams.settings import Settings  # noqa: PLC0415

    if not ARMS[name].asks:
        return {}
    settings = Settings()
    return {"model": settings.llm_model, "ranker": settings.ranker.value}


def _tell_cost(result: "Result") -> None:
    """On stderr, what an arm with a model has cost in money, and what came of it that is not in the measures."""
    if not result.llm_calls:
        return
    from streams.settings import Settings  # noqa: PLC0415

    dollars = Settings().llm_cost(result.prompt_tokens, result.completion_tokens)
    price = f", {dollars:.4f} USD" if dollars else ""
    note(
        f"{result.arm}: {result.llm_calls:,} calls ({result.cached_calls:,} of them kept from earlier), "
        f"{result.prompt_tokens:,} + {result.completion_tokens:,} tokens{price}"
    )
    if result.unusable:
        note(f"{result.arm}: {result.unusable:,} answers were of no use: rankings stay at chance, skills as they are")


def _print_line(result: "Result") -> None:
    print_json_line(result.as_json())


def _show(done: Sequence["Result"], baseline: str) -> None:
    from evaluation.run import versus  # noqa: PLC0415

    [against] = [result for result in done if result.arm == baseline]
    made = table(
        *("arm", "Hit@1 [95 %]", "Hit@3", "Hit@5", "NDCG@3", "NDCG@5"),
        *(f"Hit@1 less {baseline}", "p", "p, McNemar", "LLM calls", "prompt tokens", "seconds"),
        title=f"{against.data}: {len(against.places):,} users, {against.setting.candidates} negatives, "
        f"seed {against.setting.seed}",
        caption="p: of no difference, by sign flips over users; 95 %: bootstrap over users",
    )
    for result in done:
        low, high = result.ci95_hit_at_1
        measures = [f"{result.measures[name]:.3f}" for name in ("hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5")]
        compared = ["", "", ""]
        if result is not against:
            found = versus(result, against)
            bounds = "[{:+.3f}, {:+.3f}]".format(*found.ci95)
            compared = [f"{found.difference:+.3f} {bounds}", _p(found.p), _p(found.p_mcnemar)]
        cost = [f"{result.llm_calls:,}", f"{result.prompt_tokens:,}", f"{result.seconds:.1f}"]
        row(
            made,
            [result.arm, f"{result.measures['hit_at_1']:.3f} [{low:.3f}, {high:.3f}]", *measures, *compared, *cost],
        )
    console().print(made)


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"<{_SURE}" if value < _SURE else f"{value:.3f}"
