"""`sager acls`: the Kafka ACLs that each role needs."""

from typing import Annotated

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import console, print_json, printable, row, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "acls",
        short_help="Print the Kafka ACLs that each role needs.",
        epilog=examples("sager acls", "sager acls app --principal User:shop   # as commands for kafka-acls.sh"),
    )(acls)


def acls(
    roles: Annotated[
        list[str] | None,
        typer.Argument(
            help="app, importer, worker, materializer, advocate, serve, analyst, operator. [all]", metavar="[ROLE]..."
        ),
    ] = None,
    principal: Annotated[
        str | None, typer.Option(help="The roles' Kafka user, for commands.", metavar="User:NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the Kafka ACLs that each role needs in this deployment, from its topics.

    With --principal: as commands for Kafka's own tool, which an administrator runs.
    """
    from streams.operations.acls import ROLES, Role, by_resource, commands, grants, union  # noqa: PLC0415

    chosen = settings()
    unknown = sorted(set(roles or ()) - set(Role))
    if unknown:
        raise typer.BadParameter(f"there is no role {', '.join(unknown)}; there are {', '.join(Role)}")
    if principal is not None and (not roles or ":" not in principal):
        raise typer.BadParameter("--principal needs a ROLE, and looks like User:shop")
    asked = [Role(name) for name in roles or Role]
    if principal is not None:
        lines = commands(union(asked, chosen), principal, chosen.bootstrap)
        if as_json:
            print_json(lines)
        else:
            print("\n".join(printable(line) for line in lines))
        return
    found = {role: by_resource(grants(role, chosen)) for role in asked}
    if as_json:
        print_json(
            {
                role: [{"kind": kind, "name": name, "operations": each} for (kind, name), each in rules.items()]
                for role, rules in found.items()
            }
        )
        return
    out = console()
    for role, rules in found.items():
        made = table("", "name", "operations", title=f"{role}: {ROLES[role].does.replace('`', '')}")
        for (kind, name), operations in rules.items():
            row(made, [kind, name, ", ".join(operations)])
        out.print(made)
