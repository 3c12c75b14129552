"""`sager eval feedback` and `sager eval conversations`: people who state their preferences."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.evaluation.common import FOLDER, Budget, People, choices_of, print_lines
from streams.cli.options import AsJson, settings
from streams.cli.output import ProgressBars, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluation.conversations.figures import Totals
    from evaluation.conversations.layout import Person, Unreadable
    from evaluation.conversations.listening import ReaderChoice

REPLIES = "conversations-replies.duckdb"
CONCURRENCY = 8  # people at once, with a model


def feedback(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with people.jsonl.gz and scenarios.jsonl.gz.", metavar="DIR")],
    replies: Annotated[str, typer.Option(help="Replies as text or structured (a form).", metavar="HOW")] = "text",
    ask: Annotated[bool, typer.Option("--ask", help="Allow one question per scenario while learning.")] = False,
    passes: Annotated[int, typer.Option(min=1, help="Passes over each phase.", metavar="N")] = 3,
    people: People = None,
    as_json: AsJson = False,
) -> None:
    """Measure how soon sentences are understood, by PAHF's protocol (arXiv 2602.16173).

    Skills learn by the steps of the worker's agents, in this process. docs/quality.md explains the figures;
    with --json the last line has the shares of all passes, `phase_1` to `phase_4`.
    """
    from evaluation.feedback.learners import ReplyForm  # noqa: PLC0415
    from evaluation.feedback.protocol import evaluate  # noqa: PLC0415
    from evaluation.feedback.scenarios import read  # noqa: PLC0415

    how = choices_of(replies, ReplyForm, "--replies", ctx)[0]
    found = read(data).of(people)
    with ProgressBars() as progress:
        lines = asyncio.run(evaluate(found, how, passes, asks=ask, progress=progress.update))
    title: str | None = f"{lines[-1]['people']:,} people, replies as {how.value}, no model"
    for kind in dict.fromkeys(line["line"] for line in lines):
        print_lines([line for line in lines if line["line"] == kind], as_json, title)
        title = None


def conversations(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="The folder with one JSON file per person.", metavar="DIR")] = None,
    invent: Annotated[
        Path | None, typer.Option(help="Write invented people here, and use them.", metavar="DIR")
    ] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Invent with the held-out templates.")] = False,
    llm: Annotated[str, typer.Option(help="The listener: rules, model, both.", metavar="HOW")] = "rules",
    people: People = None,
    budget_calls: Budget = None,
    seed: Annotated[int, typer.Option(help="The seed of the invented people.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure the correct and forbidden lines on cards after conversations.

    Reads raw files of PersonaMem-v2, or invented ones in the same layout (docs/datasets.md). With --llm model or both,
    the endpoint of SAGER_LLM_* reads chunks; its replies are cached. docs/quality.md explains the figures.
    """
    if (data is None) == (invent is None):
        raise typer.BadParameter("name one of --data and --invent", ctx, param_hint="--data")
    from evaluation.conversations.invented import PEOPLE, write  # noqa: PLC0415
    from evaluation.conversations.layout import files, read  # noqa: PLC0415
    from evaluation.conversations.listening import ReaderChoice  # noqa: PLC0415

    by = choices_of(llm, ReaderChoice, "--llm", ctx)[0]
    if invent is not None:
        write(invent, people or PEOPLE, seed, held_out=held_out)
    folder = invent or data
    assert folder is not None  # noqa: S101 - one of both is given
    total = len(files(folder))
    with ProgressBars() as progress:

        def show_progress(done: int) -> None:
            progress.update("people", done, max(done, min(total, people or total)))

        found, unusable = _run(read(folder, people), by, budget_calls, show_progress)
    for path, why in found.unreadable:
        note(f"{path}: {why}")
    for who, error in found.failed:
        note(f"{who} failed: {error}")
    for why, times in found.skipped.items():
        note(f"{times:,} {why}")
    if unusable:
        note(f"{unusable:,} answers of the model were unusable and replaced by the rules")
    figures = found.shares()
    counts = {"unreadable": len(found.unreadable), "failed": len(found.failed)}
    print_lines([{"line": "summary", "llm": llm, **counts, **figures}], as_json)
    if found.failed:
        raise typer.Exit(1)


def _run(
    persons: "Iterator[Person | Unreadable]",
    by: "ReaderChoice",
    budget_calls: int | None,
    show_progress: "Callable[[int], None]",
) -> "tuple[Totals, int]":
    """Return the totals and the number of unusable answers."""
    from evaluation.conversations.figures import run  # noqa: PLC0415

    if by.value == "rules":
        return asyncio.run(run(persons, tell=show_progress)), 0
    from evaluation.conversations.listening import ModelListener  # noqa: PLC0415
    from evaluation.llm import client_of  # noqa: PLC0415
    from evaluation.replies import Replies  # noqa: PLC0415

    async def play(replies: Replies) -> "tuple[Totals, int]":
        client = client_of(settings(), replies)
        try:
            listener = ModelListener(client, by)
            return await run(
                persons, listen=listener.listen, concurrency=CONCURRENCY, tell=show_progress
            ), listener.unusable
        finally:
            await client.aclose()

    with closing(Replies(FOLDER / REPLIES, budget_calls)) as replies:
        return asyncio.run(play(replies))
