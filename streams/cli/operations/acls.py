"""`sager acls`: what each role needs to be allowed on Kafka, and whether it is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, examples, reachable, settings
from streams.cli.output import console, note, print_json, printable, row, table

if TYPE_CHECKING:
    from streams.operations.acls.roles import Grant, Role
    from streams.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "acls",
        short_help="Print the Kafka ACLs that each role needs.",
        epilog=examples(
            "sager acls",
            "sager acls app --principal User:shop                # as commands for kafka-acls.sh",
            "sager acls worker --principal User:sager --apply    # as Kafka's administrator",
            "sager acls worker --principal User:sager --check",
        ),
    )(acls)


def acls(
    roles: Annotated[
        list[str] | None,
        typer.Argument(
            help="app, importer, worker, materializer, advocate, serve, analyst, operator. [all]", metavar="[ROLE]..."
        ),
    ] = None,
    principal: Annotated[
        str | None, typer.Option(help="Who has these roles, as Kafka names it.", metavar="User:NAME")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Create missing ACLs.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare with the brokers' ACLs.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Print the Kafka ACLs that each role needs in this deployment.

    With --principal: as commands for Kafka's own tool. --apply and --check work on the brokers themselves and need
    rights on the cluster. Other ACLs that a principal has are reported and never removed. Exit code 1: --check found an
    ACL missing, or one too many.
    """
    from streams.operations.acls.roles import Role, commands, union  # noqa: PLC0415

    chosen = settings(bootstrap=bootstrap)
    unknown = sorted(set(roles or ()) - set(Role))
    if unknown:
        raise typer.BadParameter(f"there is no role {', '.join(unknown)}; there are {', '.join(Role)}")
    if (apply or check) and not (roles and principal):
        raise typer.BadParameter("--apply and --check need a ROLE and its --principal")
    if principal is not None and (not roles or ":" not in principal):
        raise typer.BadParameter("--principal needs a ROLE, and looks like User:shop")
    asked = [Role(name) for name in roles or Role]
    if principal is None:
        _show(asked, chosen, as_json)
        return
    wanted = union(asked, chosen)
    if apply or check:
        _on_brokers(chosen, principal, wanted, apply, as_json)
        return
    lines = commands(wanted, principal, chosen.bootstrap)
    if as_json:
        print_json(lines)
    else:
        print("\n".join(printable(line) for line in lines))


def _show(asked: "Sequence[Role]", chosen: "Settings", as_json: bool) -> None:
    from streams.operations.acls.roles import ROLES, by_resource, grants  # noqa: PLC0415

    found = {
        role: [(kind, name, operations) for (kind, name), operations in by_resource(grants(role, chosen)).items()]
        for role in asked
    }
    if as_json:
        print_json(
            {
                role: [{"kind": kind, "name": name, "operations": operations} for kind, name, operations in each]
                for role, each in found.items()
            }
        )
        return
    out = console()
    for role, each in found.items():
        made = table("", "name", "operations", title=f"{role}: {ROLES[role].does.replace('`', '')}")
        for kind, name, operations in each:
            row(made, [kind, name, ", ".join(operations)])
        out.print(made)


def _on_brokers(chosen: "Settings", principal: str, wanted: "Sequence[Grant]", apply: bool, as_json: bool) -> None:
    from streams.kafka.topics import admin  # noqa: PLC0415
    from streams.operations.acls.broker import compare, create  # noqa: PLC0415

    client = admin(reachable(chosen))
    found = compare(client, principal, wanted)
    made = found.missing if apply else ()
    if made:
        create(client, principal, made)
    missing = () if apply else found.missing
    if as_json:
        told = {"made": made, "missing": missing}
        print_json({name: [str(grant) for grant in each] for name, each in told.items()} | {"besides": found.besides})
    else:
        for word, each in (("made", made), ("missing", missing), ("besides", found.besides)):
            for rule in each:
                print(printable(f"{word}: {rule}"))
        note(f"{principal}: {len(wanted)} rules needed, {len(made)} made, {len(missing)} missing, "
             f"{len(found.besides)} besides")  # fmt: skip
    if missing or (found.besides and not apply):
        raise typer.Exit(FAILED)
