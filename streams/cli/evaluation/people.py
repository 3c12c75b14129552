"""`sager eval feedback` and `sager eval conversations`: people who say what they want."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.evaluation.figures import FOLDER, Budget, People, members, print_figures, print_lines, print_table
from streams.cli.options import AsJson, settings
from streams.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluation.conversations.figures import Run
    from evaluation.conversations.layout import Person, Unreadable
    from evaluation.conversations.listening import By

REPLIES = "conversations-replies.duckdb"
CONCURRENCY = 8
"""People under way at once, with a model."""


def feedback(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with people.jsonl.gz and scenarios.jsonl.gz.", metavar="DIR")],
    replies: Annotated[str, typer.Option(help="Replies as text or structured (a form).", metavar="HOW")] = "text",
    ask: Annotated[bool, typer.Option("--ask", help="Allow one question per scenario while learning.")] = False,
    passes: Annotated[int, typer.Option(min=1, help="Passes over each phase.", metavar="N")] = 3,
    people: People = None,
    as_json: AsJson = False,
) -> None:
    """Measure how soon a person is understood who answers in words.

    The protocol of PAHF (arXiv 2602.16173): passes of learning over a first phase with a test after each; then tastes
    shift, and the same over a second one. A person is offered one item or none; they say that it is right, or in one
    sentence why not. Skills learn by the steps of the worker's agents, in this process, without a model or a broker.
    docs/quality-feedback.md explains the figures.

    With --json: one object per line; the last one has the shares of all passes, `phase_1` to `phase_4`.
    """
    from evaluation.feedback.learners import Replies  # noqa: PLC0415
    from evaluation.feedback.protocol import evaluate  # noqa: PLC0415
    from evaluation.feedback.scenarios import read  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    [how] = members(Replies, [replies], "--replies", ctx)[:1]
    found = read(data).of(people)
    with Stages() as stages:
        lines = asyncio.run(evaluate(found, how, passes, asks=ask, progress=stages.at))
    if as_json:
        print_lines(lines)
        return
    summary = lines[-1]
    title = f"{summary['people']:,} people, {summary['persons_and_domains']:,} tastes, replies as {how.value}, no model"
    caption = "right: while learning; success: in the test, from which nothing is learned"
    columns = ["phase", "pass", "right", "asked", "test", "success"]
    print_table([line for line in lines if line["line"] == "pass"], columns, title, caption)
    for line in lines[:-1]:
        figures = {name: value for name, value in line.items() if name not in ("line", "bins")}
        if line["line"] == "reliability":
            print_table(line["bins"], ["from", "to", "predicted", "came", "n"], f"chances of {line['of']}")
        elif line["line"] != "pass":
            print_figures(figures, line["line"])


def conversations(
    ctx: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="The folder with one JSON file per person.", metavar="DIR", show_default=False)
    ] = None,
    invent: Annotated[
        Path | None, typer.Option(help="Write invented people here, and play them.", metavar="DIR")
    ] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Invent with the held-out templates.")] = False,
    llm: Annotated[str, typer.Option(help="The listener: rules, model, both.", metavar="HOW")] = "rules",
    people: People = None,
    budget_calls: Budget = None,
    seed: Annotated[int, typer.Option(help="Of the invented people.")] = 0,
    lines: Annotated[bool, typer.Option("--lines", help="List each line and each preference.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure what cards hold after conversations, and what they must not hold.

    The files are raw files of PersonaMem-v2, or invented ones in the same layout (docs/datasets.md);
    docs/quality-conversations.md explains the figures. With --llm model or both, the endpoint of SAGER_LLM_* reads
    chunks; its replies are kept. An unreadable file is named on stderr, and the others go on.

    With --json: one object for the summary; with --lines also one per line.
    """
    if (data is None) == (invent is None):
        raise typer.BadParameter("name one of --data and --invent", ctx, param_hint="--data")
    from evaluation.conversations.figures import listed  # noqa: PLC0415
    from evaluation.conversations.invented import PEOPLE, write  # noqa: PLC0415
    from evaluation.conversations.layout import files, read  # noqa: PLC0415
    from evaluation.conversations.listening import By, Played  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    [by] = members(By, [llm], "--llm", ctx)[:1]
    if invent is not None:
        write(invent, people or PEOPLE, seed, held_out=held_out)
    folder = invent or data
    assert folder is not None  # noqa: S101 - one of both is given
    total = len(files(folder))
    shown: list[dict[str, Any]] = []

    def show(played: Played) -> None:
        if lines:
            shown.extend(dict(line) for line in listed(played))

    with Stages() as stages:

        def tell(done: int) -> None:
            stages.at("people", done, max(done, min(total, people or total)))

        found, unusable = _run(read(folder, people), by, budget_calls, {"tell": tell, "show": show})
    _note_faults(found, unusable)
    figures = found.shares()
    if as_json:
        counts = {"unreadable": len(found.unreadable), "failed": len(found.failed)}
        print_lines([*shown, {"line": "summary", "llm": llm, **counts, **figures}])
    else:
        if shown:
            print_table(shown, ["user_id", "line", "verdict", "stance", "value", "preference"], "lines of cards")
        print_figures(figures, f"{figures['people']:,} people, listener: {llm}")
    if found.failed:
        raise typer.Exit(1)


def _note_faults(found: "Run", unusable: int) -> None:
    for path, why in found.unreadable:
        note(f"{path}: {why}")
    for who, error in found.failed:
        note(f"{who} could not be played: {error}")
    for why, times in found.skipped.items():
        note(f"{times:,} {why}")
    if unusable:
        note(f"{unusable:,} answers of the model were of no use: rules took their place")


def _run(
    persons: "Iterator[Person | Unreadable]", by: "By", budget_calls: int | None, to: dict[str, Any]
) -> "tuple[Run, int]":
    """The outcome of the persons, and the number of unusable answers of a model."""
    from evaluation.conversations.figures import run  # noqa: PLC0415

    if by.value == "rules":
        return asyncio.run(run(persons, **to)), 0
    from evaluation.conversations.listening import ModelListener  # noqa: PLC0415
    from evaluation.llm import client_of, desk_of  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415

    async def play(replies: Replies) -> "tuple[Run, int]":
        configured = settings()
        client = client_of(configured, replies)
        try:
            listener = ModelListener(desk_of(client, replies, configured), by)
            return await run(persons, listen=listener.listen, concurrency=CONCURRENCY, **to), listener.unusable
        finally:
            await client.aclose()

    with closing(Replies(FOLDER / REPLIES, budget_calls)) as replies:
        return asyncio.run(play(replies))
