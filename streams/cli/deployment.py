"""`sager doctor`, `topics`, `acls`, `config`, `token`, `schemas` and `dead-letters`: a deployment's parts."""

import os
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Bootstrap, Since, config_file, connected_settings, examples, moment_ms, settings
from streams.cli.output import FAILED, ProgressBars, console, json_text, note, print_json, print_rows, printable

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red", "skipped": "dim"}

app = typer.Typer()


@app.command(epilog=examples("sager doctor --json"))
def doctor(as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Check broker, topics, workers, DuckDB, LLM and files.

    Changes nothing. Each line states a finding and, for a problem, the next step. Exit code 1: there is an error.
    """
    chosen = settings(bootstrap=bootstrap)
    from rich.text import Text  # noqa: PLC0415

    from streams.operations.doctor import Status, examine  # noqa: PLC0415

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


@app.command(epilog=examples("sager topics --create"))
def topics(
    create: Annotated[bool, typer.Option("--create", help="Create missing topics.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Compare the broker's topics with the registry.

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


@app.command(epilog=examples("sager acls app --principal User:shop"))
def acls(
    roles: Annotated[list[str] | None, typer.Argument(help="Such as app or worker. [all]", metavar="[ROLE]...")] = None,
    principal: Annotated[str | None, typer.Option(help="Print commands for this user.", metavar="User:NAME")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the Kafka ACLs that each role needs.

    With --principal: as commands for Kafka's own tool, which an administrator runs.
    """
    from streams.operations.acls import ROLES, by_resource, commands, grants, union  # noqa: PLC0415

    chosen = settings()
    unknown = sorted(set(roles or ()) - ROLES.keys())
    if unknown:
        raise typer.BadParameter(f"unknown role {', '.join(unknown)}: choose from {', '.join(ROLES)}")
    if principal is not None and (not roles or ":" not in principal):
        raise typer.BadParameter("--principal needs a ROLE, and looks like User:shop")
    chosen_roles = roles or list(ROLES)
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


@app.command(epilog=examples("SAGER_CONFIG=sager.toml sager config --json"))
def config(as_json: AsJson = False) -> None:
    """Print the effective configuration.

    Each value has its source; secrets are hidden. Environment variables override the TOML file in SAGER_CONFIG, which
    overrides the defaults. The file's keys are the variables' names in lower case, without SAGER_.
    """
    chosen = settings()
    fields = type(chosen).model_fields
    values = chosen.model_dump(mode="json")  # pydantic hides secrets
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = _CREDENTIALS.sub("***@", value)
    environment, file = {name.upper() for name in os.environ}, {name.lower() for name in config_file()}
    sources = {name: _source(name, field, environment, file) for name, field in fields.items()}
    if as_json:
        print_json({name: {"value": values[name], "source": sources[name]} for name in fields})
        return
    rows = []
    for name, value in values.items():
        shown = {"value": value if isinstance(value, str) else json_text(value), "from": sources[name]}
        rows.append({"setting": f"SAGER_{name.upper()}", **shown, "meaning": fields[name].description or ""})
    print_rows(rows, "effective configuration")


def _source(name: str, field: "FieldInfo", environment: set[str], file: set[str]) -> str:
    choices = [str(choice) for choice in getattr(field.validation_alias, "choices", [f"SAGER_{name}"])]
    for variable in choices:
        if variable.upper() in environment:
            return variable.upper()
    if name in file or file.intersection(choice.lower() for choice in choices):
        return os.environ.get("SAGER_CONFIG", "file")
    return "default"


# A copy of the scopes in `streams.http.tokens`, whose import would slow down `sager --help`.
ScopeName = StrEnum("ScopeName", "read-user read-all change-user forget-user produce read-slim operate")
_EXAMPLES = examples(
    "sager token new --name ann-app --scope read-user --scope change-user --user ann --days 90 >> tokens.toml",
    "sager token new --name shop --scope produce --scope read-slim --user '*' --rate 2000 >> tokens.toml",
    "sager token new --name prometheus --scope operate --json",
)
token = typer.Typer(no_args_is_help=True, help="Tokens of the HTTP API.", epilog=_EXAMPLES)
app.add_typer(token, name="token")


@token.command(epilog=_EXAMPLES)
def new(
    name: Annotated[str, typer.Option(help="The owner, who is the actor of its changes in the log.", metavar="NAME")],
    scope: Annotated[list[ScopeName], typer.Option(help="A permission; repeatable.")],
    user: Annotated[str | None, typer.Option(help="The user, or *. Not for read-all, operate.", metavar="USER")] = None,
    rate: Annotated[float | None, typer.Option(min=0.01, help="A second. [SAGER_HTTP_RATE]", metavar="N")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires. [never]", metavar="N")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a token: its lines on stdout, the token itself on stderr.

    The token is shown only once, because the file has only its hash. With --json: both on stdout.
    """
    from streams.http import tokens  # noqa: PLC0415

    expires = None if days is None else datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    secret, made = tokens.new_token(name, scope, user, expires, rate)
    if as_json:
        print_json({"token": secret, "lines": tokens.token_toml(made)})
        return
    print(tokens.token_toml(made))
    note(f"the token, shown only once: {secret}")


_EXPORTS = examples("sager schemas export --out schemas/", "sager schemas export > asyncapi.json")
schemas = typer.Typer(no_args_is_help=True, help="The events' schemas.", epilog=_EXPORTS)
app.add_typer(schemas, name="schemas")


@schemas.command(epilog=_EXPORTS)
def export(
    out: Annotated[Path | None, typer.Option(help="The folder for the files.", metavar="DIR", file_okay=False)] = None,
    documents: Annotated[bool, typer.Option("--documents", help="Without a schema per topic.")] = False,
) -> None:
    """Write a JSON Schema per public topic, `asyncapi.json` and `openapi.json`.

    Replaces existing files. Without --out it prints the AsyncAPI document.
    """
    from schemas.export import asyncapi  # noqa: PLC0415

    chosen = settings()
    described = asyncapi(chosen.prefix, chosen.partitions)
    if out is None:
        print_json(described)
        return
    from schemas.export import json_schema, public_topics  # noqa: PLC0415
    from streams.http.openapi import document  # noqa: PLC0415

    files = {f"{topic.base}.schema.json": json_schema(topic) for topic in (() if documents else public_topics())}
    files |= {"asyncapi.json": described, "openapi.json": document()}
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_text(f"{json_text(content, 2)}\n", encoding="utf-8")
    note(f"{len(files)} files in {out}")


LetterReason = Annotated[list[str] | None, typer.Option(help="With this reason; repeatable.", metavar="REASON")]
Stage = Annotated[list[str] | None, typer.Option(help="Refused by this stage; repeatable.", metavar="STAGE")]
dead_letters = typer.Typer(
    no_args_is_help=True,
    help="Replay refused records; `sager sql` lists them.",
    epilog=examples('sager sql "FROM dead_letters"', "sager dead-letters replay --reason internal-error --since 7d"),
)
app.add_typer(dead_letters, name="dead-letters")


@dead_letters.command(epilog=examples("sager dead-letters replay --reason internal-error --since 7d --dry-run"))
def replay(
    event_ids: Annotated[list[str] | None, typer.Argument(help="Ids of dead letters.", metavar="[EVENT_ID]...")] = None,
    reason: LetterReason = None,
    stage: Stage = None,
    since: Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and send nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Send the records of dead letters again to their partitions.

    A record that is refused again becomes a new dead letter. Do not replay the same letters twice at the same time.
    Exit code 1: some of the chosen letters cannot be replayed.
    """
    from streams.operations import dead_letters as letters  # noqa: PLC0415

    if not (event_ids or reason or stage or since):
        raise typer.BadParameter("name dead letters by their ids, or select them, as with --reason internal-error")
    chosen = connected_settings(bootstrap)
    filters = letters.LetterFilter(
        frozenset(event_ids or ()), frozenset(reason or ()), frozenset(stage or ()), moment_ms(since)
    )
    with ProgressBars() as progress:
        planned = letters.plan(chosen, filters, progress.update)
        sent = 0 if dry_run else letters.replay(chosen, planned, progress.update)
    if as_json:
        blocked = {name: why.value for name, why in planned.blocked.items()}
        print_json({"ready": list(planned.ready), "replayed": sent, "hindered": blocked, "unknown": planned.unknown})
    else:
        for name, found in planned.ready.items() if dry_run else ():
            source = found.letter.source
            print(printable(f"{name}  to {source.topic}/{source.partition}/{source.offset}"))
        print(f"{len(planned.ready):,} would be replayed" if dry_run else f"{sent:,} replayed")
        for name, why in planned.blocked.items():
            note(f"{name}: {why.value}")
        for name in planned.unknown:
            note(f"{name}: no such dead letter, or not selected")
    if planned.unknown or set(planned.blocked.values()) - {letters.Blocker.DONE}:
        raise typer.Exit(FAILED)
