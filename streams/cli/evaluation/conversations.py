"""`sager eval conversations`: what a person's card holds after their conversations, and what it must not hold."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from streams.cli.evaluation.report import RESULTS
from streams.cli.options import AsJson, settings
from streams.cli.output import console, note, print_json_line, row, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evaluation.conversations.layout import Person, Unreadable
    from evaluation.conversations.play import Played
    from evaluation.conversations.run import Run, Show, Tell

    class _To(TypedDict):
        """Who is told while people are played."""

        tell: Tell
        show: Show


REPLIES = "conversations-replies.duckdb"
HOW = ("rules", "model", "both")
_SAYS = {
    "opposite": "the contrary of one", "overtaken": "one that was overtaken", "forgotten": "one that was forgotten",
    "others": "somebody else's", "sensitive": "health or therapy",
    "described": "nothing of it, but the description has it", "untold": "nothing that the file tells",
}  # fmt: skip


def conversations(
    ctx: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="The folder with one JSON file per person.", metavar="DIR", show_default=False)
    ] = None,
    invent: Annotated[
        Path | None, typer.Option(help="Write invented people to this folder and play them.", metavar="DIR")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Invent with the templates that no rule was written after.")
    ] = False,
    llm: Annotated[str, typer.Option(help="Who understands: rules, model, both.", metavar="HOW")] = "rules",
    people: Annotated[
        int | None, typer.Option(min=1, help="Only the first people. [default: all, or 36]", metavar="N")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="People under way at once, with a model.")] = 8,
    budget_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more LLM calls than these; kept replies cost none.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the invented people.")] = 0,
    lines: Annotated[
        bool, typer.Option("--lines", help="List each line with what it was laid to, and what no line says.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Play each person's conversations through the steps of the agent `listen`, and lay the card to what is true.

    The files are raw files of PersonaMem-v2, or invented ones in the same layout (docs/datasets.md). A line of a card
    says a preference if they share enough words and the stance agrees; docs/quality-conversations.md has the rule.
    Told are: preferences found, updates honoured, what comes back that was to be forgotten, what is kept of sensitive
    things, what is taken from others for one's own, what it costs, and how often the card tells which of several
    answers suits the person.

    With --llm model or both, chunks are read and answers are judged by the endpoint of SAGER_LLM_*. Its replies are
    kept beside the other results. A file that is no such file is told on stderr, and the others go on.

    With --lines: for each person the lines of the card, each with what it was laid to, then what no line says.

    With --json: one object per group of questions and one for the summary; with --lines also one per line.
    """
    if (data is None) == (invent is None):
        raise typer.BadParameter("name one of --data and --invent", ctx, param_hint="--data")
    if llm not in HOW:
        raise typer.BadParameter(f"{llm!r} is none of {', '.join(HOW)}", ctx, param_hint="--llm")
    from evaluation.conversations.invented import PEOPLE, write  # noqa: PLC0415
    from evaluation.conversations.layout import files, read  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    if invent is not None:
        write(invent, people or PEOPLE, seed, held_out=held_out)
        data = invent
    assert data is not None  # noqa: S101 - one of both is given
    total = len(files(data))
    show = (_list_json if as_json else _list) if lines else _list_nothing
    with Stages() as stages:

        def tell(done: int) -> None:
            stages.at("people", done, max(done, min(total, people or total)))

        found, unusable = _run(read(data, people), llm, concurrency, budget_calls, {"tell": tell, "show": show})
    for path, why in found.unreadable:
        note(f"{path}: {why}")
    for who, error in found.failed:
        note(f"{who} could not be played: {error}")
    for why, times in found.skipped.items():
        note(f"{times:,} {why}")
    if unusable:
        note(f"{unusable:,} answers of the model were of no use: rules took their place")
    figures, chosen = found.figures.shares(), found.chosen.shares()
    if as_json:
        for group, each in chosen.items():
            print_json_line({"line": "choice", "about": group, **each})
        print_json_line(
            {"line": "summary", "llm": llm, "unreadable": len(found.unreadable), "failed": len(found.failed), **figures}
        )
    else:
        _show(figures, chosen, llm)
    if found.failed:
        raise typer.Exit(1)


def _run(
    persons: "Iterator[Person | Unreadable]", llm: str, concurrency: int, budget_calls: int | None, to: "_To"
) -> "tuple[Run, int]":
    """What the persons come to, and how many answers of a model were of no use."""
    from evaluation.conversations.run import run  # noqa: PLC0415

    if llm == "rules":
        return asyncio.run(run(persons, **to)), 0
    from evaluation.arms.llm import client_of  # noqa: PLC0415
    from evaluation.conversations.asked import Asked, How  # noqa: PLC0415
    from evaluation.replies import Desk, Replies  # noqa: PLC0415

    async def play(replies: Replies) -> "tuple[Run, int]":
        configured = settings()
        client = client_of(configured, replies)
        try:
            asked = Asked(Desk(client, replies, f"sizes={configured.llm_sizes_in_schema}"), How(llm))
            found = await run(persons, listen=asked.listen, choose=asked.choose, concurrency=concurrency, **to)
        finally:
            await client.aclose()
        return found, asked.unusable

    with closing(Replies(RESULTS.with_name(REPLIES), calls=budget_calls)) as replies:
        return asyncio.run(play(replies))


def _list_nothing(played: "Played") -> None:
    del played


def _list_json(played: "Played") -> None:
    from evaluation.conversations.figures import listed  # noqa: PLC0415

    for each in listed(played):
        print_json_line(dict(each))


def _list(played: "Played") -> None:
    """A person's lines: what a line says by the file, the line, and what it was laid to."""
    from evaluation.conversations.figures import listed  # noqa: PLC0415

    typer.echo(played.person.user_id)
    for each in listed(played):
        if each["line"] == "missed":
            typer.echo(f"  missed     {each['preference']}")
        else:
            told = "" if each["preference"] is None else f" <- {each['preference']}"
            typer.echo(f"  {each['verdict']:<10} {each['stance']} {each['value']}{told}")


def _show(figures: "Mapping[str, Any]", chosen: "Mapping[str, Mapping[str, Any]]", llm: str) -> None:
    by = "no model" if llm == "rules" else "a model" if llm == "model" else "rules and a model"
    made = table(
        *("figure", "value", "of"),
        title=f"{figures['people']:,} people, {figures['conversations']:,} conversations, {by}",
    )
    said, implied = figures["said"], figures["implied"]
    for name, value, of in (
        ("preferences found", _share(figures["recall"]), f"{figures['preferences']:,} that stand"),
        ("  said", _share(figures["recall_said"]), f"{said:,}"),
        ("  implied", _share(figures["recall_implied"]), f"{implied:,}"),
        ("    in words of their own", _share(figures["recall_implied_own_words"]), f"{figures['implied_own_words']:,}"),
        *((f"  {group}", _share(each["recall"]), f"{each['preferences']:,}")
          for group, each in figures["preferences_by_group"].items()),
        ("lines that say one of them", _share(figures["precision"]), f"{figures['lines']:,} lines"),
        *((f"  {_SAYS[verdict]}", times, "") for verdict, times in figures["lines_by_verdict"].items()
          if times and verdict in _SAYS),
        ("updates honoured", _share(figures["updates_honoured"]), f"{figures['updates']:,}"),
        ("  the new one stands", _share(figures["updates_new_stands"]), ""),
        ("  the old one is gone", _share(figures["updates_old_gone"]), f"{figures['updates_known_before']:,} known"),
        ("  the old one is on the card", figures["updates_old_kept"], ""),
        ("forgotten, come back", figures["forgotten_come_back"],
         f"{figures['forgotten']:,}, {figures['forgotten_known_before']:,} known"),
        ("sensitive values kept", figures["sensitive_kept"], f"{figures['sensitive_values']:,}"),
        ("health and therapy kept", figures["sensitive_topics_kept"], f"{figures['sensitive_topics']:,}"),
        ("others' taken for one's own", figures["others_taken"], f"{figures['others']:,}"),
        ("tokens heard", _number(figures["tokens_per_conversation"]), "per conversation"),
        ("tokens of a model", _number(figures["model_tokens_per_conversation"]), "per conversation"),
        ("chunks thought over", _number(figures["chunks_per_conversation"]), "per conversation"),
        ("calls of a model", _number(figures["calls_per_conversation"]), "per conversation"),
        ("bytes, card and log", _number(figures["bytes_per_person"]), "per person"),
        ("milliseconds", _number(1_000 * (figures["seconds_per_conversation"] or 0)), "per conversation"),
    ):  # fmt: skip
        row(made, [name, value, of])
    for group, each in chosen.items():
        chance, known = _share(each["chance"]), _share(each["right_if_all_known"])
        told = f"{each['asked']:,}, {chance} by chance, {known} if all were known"
        row(made, [f"right answer chosen, {group}", _share(each["right"]), told])
    console().print(made)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
