"""`sager topics`: the registry against the broker."""

from typing import Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "topics",
        short_help="Compare the broker's topics with the registry.",
        epilog=examples("sager topics --create", "sager topics --bootstrap kafka:9092 --json"),
    )(topics)


def topics(
    create: Annotated[bool, typer.Option("--create", help="Create missing topics.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Compare the broker's topics with those that the deployment needs.

    Exit code 1: a topic is missing or has other settings.
    """
    from streams.kafka import topics as broker  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    if create:
        for name in broker.ensure(chosen):
            note(f"created {name}")
    rows: list[dict[str, Any]] = []
    for state in broker.inspect(chosen):
        topic = state.topic
        kept = "for ever" if topic.retention is None else f"{topic.retention.days} days"
        rows.append(
            {
                "name": state.name,
                "key": topic.key.value,
                "partitions": state.partitions,
                "wanted_partitions": topic.partitions(chosen.partitions),
                "kept": "newest per key" if topic.compact else kept,
                "written_by": topic.written_by,
                "state": "missing" if state.partitions is None else "differs" if state.differs else "ok",
                "differs": list(state.differs),
            }
        )
    if as_json:
        print_json(rows)
    else:
        made = table("topic", "key", "partitions", "kept", "state", title=f"topics at {chosen.bootstrap}")
        styles = {"ok": None, "missing": "yellow", "differs": "red"}
        for each in rows:
            told = " and ".join(each["differs"]) or each["state"]
            partitions = each["wanted_partitions"] if each["partitions"] is None else each["partitions"]
            row(made, [each["name"], each["key"], partitions, each["kept"], told], styles[each["state"]])
        console().print(made)
        if any(each["state"] == "missing" for each in rows):
            note("`sager topics --create` creates what is missing; so does every worker at its start")
    if any(each["state"] != "ok" for each in rows):
        raise typer.Exit(FAILED)
