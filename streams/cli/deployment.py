"""`sager doctor`, `sager topics` and `sager acls`: a deployment and its broker."""

from typing import Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, connected_settings, examples, settings
from streams.cli.output import console, note, print_json, print_rows, printable

_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red", "skipped": "dim"}

app = typer.Typer()


@app.command(short_help="Check broker, topics, workers, DuckDB and LLM.", epilog=examples("sager doctor --json"))
def doctor(as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Check broker, topics, workers, DuckDB, LLM and file permissions.

    Changes nothing. Each line states a finding and, for a problem, the next step. Exit code 1: there is an error.
    """
    chosen = settings(bootstrap=bootstrap)
    from rich.text import Text  # noqa: PLC0415

    from streams.operations.doctor import examine  # noqa: PLC0415
    from streams.operations.findings import Status  # noqa: PLC0415

    out, found = console(), []
    for each in examine(chosen):
        found.append(each)
        if not as_json:
            status = (f"{each.status:<8}", _STYLES[each.status])
            line = Text.assemble(status, f"{each.check:<13}", printable(each.found))
            if each.todo:
                line.append(f"\n{'':<21}→ {printable(each.todo)}", style="bold" if each.status == "error" else "")
            out.print(line, soft_wrap=True)
    errors = sum(each.status is Status.ERROR for each in found)
    warnings = sum(each.status is Status.WARNING for each in found)
    if as_json:
        print_json([vars(each) for each in found])
    else:
        print(f"\nerrors: {errors}, warnings: {warnings}")
    if errors:
        raise typer.Exit(FAILED)


@app.command(short_help="Compare the broker's topics with the registry.", epilog=examples("sager topics --create"))
def topics(
    create: Annotated[bool, typer.Option("--create", help="Create missing topics.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Compare the broker's topics with those that the deployment needs.

    Exit code 1: a topic is missing or has other settings.
    """
    from streams.kafka import topics as broker  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    if create:
        for name in broker.ensure(chosen):
            note(f"created {name}")
    rows: list[dict[str, Any]] = []
    for state in broker.inspect(chosen):
        topic = state.topic
        kept = "forever" if topic.retention is None else f"{topic.retention.days} days"
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
        print_rows(rows, f"topics at {chosen.bootstrap}")
        if any(each["state"] == "missing" for each in rows):
            note("`sager topics --create` creates the missing topics; every worker does so at its start")
    if any(each["state"] != "ok" for each in rows):
        raise typer.Exit(FAILED)


@app.command(
    short_help="Print the Kafka ACLs that each role needs.", epilog=examples("sager acls app --principal User:shop")
)
def acls(
    roles: Annotated[list[str] | None, typer.Argument(help="Such as app or worker. [all]", metavar="[ROLE]...")] = None,
    principal: Annotated[
        str | None, typer.Option(help="The roles' Kafka user, for commands.", metavar="User:NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the Kafka ACLs that each role needs in this deployment.

    With --principal: as commands for Kafka's own tool, which an administrator runs.
    """
    from streams.operations.acls import ROLES, KafkaRole, by_resource, commands, grants, union  # noqa: PLC0415

    chosen = settings()
    unknown = sorted(set(roles or ()) - set(KafkaRole))
    if unknown:
        raise typer.BadParameter(f"unknown role {', '.join(unknown)}: choose from {', '.join(KafkaRole)}")
    if principal is not None and (not roles or ":" not in principal):
        raise typer.BadParameter("--principal needs a ROLE, and looks like User:shop")
    chosen_roles = [KafkaRole(name) for name in roles or KafkaRole]
    if principal is not None:
        lines = commands(union(chosen_roles, chosen), principal, chosen.bootstrap)
        if as_json:
            print_json(lines)
        else:
            print("\n".join(map(printable, lines)))
        return
    found = {
        role: [
            {"kind": kind, "name": name, "operations": operations}
            for (kind, name), operations in by_resource(grants(role, chosen)).items()
        ]
        for role in chosen_roles
    }
    if as_json:
        print_json(found)
        return
    for role, rules in found.items():
        print(f"{role}: {ROLES[role].purpose}")
        print_rows(rules)
