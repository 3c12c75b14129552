"""`sager coverage`: what a parser finds in a data set, before anything is streamed."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import console, note, print_json, row, table

if TYPE_CHECKING:
    from operators.coverage import Coverage
    from operators.statinit import Parser
    from schemas import Attribute, Fact
    from streams.cli.progress import Stages
    from streams.importers import Dataset

_EVERY = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "coverage",
        short_help="Measure what a parser finds in a data set.",
        epilog=examples("sager coverage --data ml-latest-small/", "sager coverage --data books/ --parser yelp"),
    )(coverage)


def coverage(
    data: Annotated[Path, typer.Option(help="The folder with the data set's files.", metavar="DIR")],
    domain: Annotated[
        str | None, typer.Option(help="What the items are, instead of what they say themselves.", metavar="DOMAIN")
    ] = None,
    users: Annotated[int | None, typer.Option(min=1, help="Only the first users of the file.", metavar="N")] = None,
    parser: Annotated[
        str | None, typer.Option(help="Read the items with this parser instead of the domain's.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a parser finds in a data set's items, and how much the users' skills differ because of it.

    Reads what `sager import` reads; needs no Kafka. A parser that finds nothing raises no error and gives every user
    the same empty skill: this command shows it.

    Exit code 1: more than half of the users have no skill of their own.
    """
    from operators.coverage import coverage as count  # noqa: PLC0415
    from operators.statinit import parser_for  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.importers import load  # noqa: PLC0415

    configured = settings().parsers
    read = load(data, users, domain=domain)
    parse = parser_for(read.domain, configured if parser is None else {read.domain: parser})
    # A parser is a function called `parse`; its module is named for what it reads.
    named = parser or configured.get(read.domain) or parse.__module__.rpartition(".")[2]
    with Stages() as stages:
        facts = _facts(read, parse, stages)
        found = count(facts.values(), _priors(read, facts, stages))
    if as_json:
        told = asdict(found) | {"domain": read.domain, "parser": named, "tells_users_apart": found.tells_users_apart}
        print_json(told | {"skipped": dict(read.skipped)})
    else:
        _show(found, f"{read.domain}, read by the parser {named}")
        for reason, number in read.skipped.items():
            note(f"left out: {number:,} {reason}")
    if not found.tells_users_apart:
        raise typer.Exit(1)


def _facts(data: "Dataset", parse: "Parser", stages: "Stages") -> "dict[str, tuple[Fact, ...]]":
    facts = {}
    for place, item in enumerate(data.items.values(), 1):
        facts[item.item_id] = parse(item)
        if place % _EVERY == 0 or place == len(data.items):
            stages.at("items", place, len(data.items))
    return facts  # type: ignore[return-value]


def _priors(data: "Dataset", facts: "dict[str, tuple[Fact, ...]]", stages: "Stages") -> "Iterator[Sequence[Attribute]]":
    """The prior of every user after all of their visits, as a worker would compute it."""
    from operators.statinit import observe, statinit  # noqa: PLC0415
    from streams.importers import events  # noqa: PLC0415

    profile, place, total = None, 0, len(data.histories)
    for event in events.interactions(data):
        if profile is not None and profile.user_id != event.user_id:
            place += 1
            if place % _EVERY == 0:
                stages.at("users", place, total)
            yield statinit(profile)
            profile = None
        profile = observe(profile, event, facts[event.item.item_id])
    if profile is not None:
        stages.at("users", total, total)
        yield statinit(profile)


def _show(found: "Coverage", title: str) -> None:
    made = table("dimension", "items with a fact", "users with a line", title=title)
    for dimension, (of_items, of_users) in found.dimensions.items():
        row(made, [dimension, f"{of_items:.1%}", f"{of_users:.1%}"])
    out = console()
    out.print(made)
    out.print(f"items: {found.items:,}, of which {found.items_read:.1%} have any fact")
    out.print(f"users: {found.users:,}, with {found.distinct_skills:,} different skills; {found.empty:.1%} have none")
    if found.tells_users_apart:
        out.print(f"good: {1 - found.same:.1%} of the users start with a skill of their own", style="green")
    elif not found.users:
        out.print("no user has a history", style="red")
    else:
        cause = "nothing in these items" if found.empty >= found.same - found.empty else "the same in all items"
        out.print(
            f"{found.same:.1%} of the users have no skill of their own: the parser finds {cause}. Try another with "
            "--parser (generic takes structured fields as they are), or write one for this domain",
            style="red",
        )
