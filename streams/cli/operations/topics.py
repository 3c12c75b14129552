"""`sager topics`: the registry against the broker."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Bootstrap, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table

if TYPE_CHECKING:
    from schemas import Topic
    from streams.kafka.topics import TopicState
    from streams.settings import Settings


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
    states = broker.inspect(chosen)
    if as_json:
        print_json([_as_json(state, chosen) for state in states])
    else:
        _show(states, chosen)
    if any(_state(state) != "ok" for state in states):
        if not as_json and any(state.partitions is None for state in states):
            note("`sager topics --create` creates what is missing; so does every worker at its start")
        raise typer.Exit(1)


def _state(state: "TopicState") -> str:
    if state.partitions is None:
        return "missing"
    return "differs" if state.differs else "ok"


def _kept(topic: "Topic") -> str:
    if topic.compact:
        return "newest per key"
    return "for ever" if topic.retention is None else f"{topic.retention.days} days"


def _as_json(state: "TopicState", chosen: "Settings") -> dict[str, Any]:
    return {
        "name": state.name,
        "key": state.topic.key.value,
        "partitions": state.partitions,
        "wanted_partitions": state.topic.partitions(chosen.partitions),
        "kept": _kept(state.topic),
        "written_by": state.topic.written_by,
        "state": _state(state),
        "differs": list(state.differs),
    }


def _show(states: "list[TopicState]", chosen: "Settings") -> None:
    made = table("topic", "key", "partitions", "kept", "state", title=f"topics at {chosen.bootstrap}")
    for state in states:
        found = _state(state)
        told = " and ".join(state.differs) if found == "differs" else found
        partitions = state.topic.partitions(chosen.partitions) if state.partitions is None else state.partitions
        style = {"ok": None, "missing": "yellow", "differs": "red"}[found]
        row(made, [state.name, state.topic.key.value, partitions, _kept(state.topic), told], style)
    console().print(made)
