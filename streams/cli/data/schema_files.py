"""`sager schemas export`: JSON Schemas, the AsyncAPI and the OpenAPI document, for other languages."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.cli.options import examples, settings
from streams.cli.output import json_text, note, print_json

_OURS = {"$schema", "asyncapi", "openapi"}
"""Members by which a file that we wrote is known."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True, help="The events' schemas.", epilog=examples("sager schemas export --out schemas/")
    )
    group.command(
        "export",
        epilog=examples(
            "sager schemas export --out schemas/",
            "sager schemas export > asyncapi.json",
        ),
    )(export)
    app.add_typer(group, name="schemas")


def export(
    out: Annotated[Path | None, typer.Option(help="The folder for the files.", metavar="DIR", file_okay=False)] = None,
    documents: Annotated[bool, typer.Option("--documents", help="Without a schema per topic.")] = False,
) -> None:
    """Write a JSON Schema per public topic, `asyncapi.json` and `openapi.json`.

    Without --out it prints the AsyncAPI document.
    """
    from schemas.asyncapi import asyncapi  # noqa: PLC0415

    chosen = settings()
    described = asyncapi(chosen.prefix, chosen.partitions)
    if out is None:
        print_json(described)
        return
    from schemas.export import json_schema, public_topics  # noqa: PLC0415
    from streams.http.document import document  # noqa: PLC0415

    files = {f"{topic.base}.schema.json": json_schema(topic) for topic in (() if documents else public_topics())}
    _write(out, {**files, "asyncapi.json": described, "openapi.json": document()})


def _write(out: Path, files: dict[str, dict[str, Any]]) -> None:
    from streams import replaced  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    for name in files:
        _check_older(out / name)
    for name, content in files.items():
        replaced.replace(out / name, f"{json_text(content, 2)}\n".encode())
    note(f"{len(files)} files in {out}")


def _check_older(file: Path) -> None:
    """Only an older file of ours is replaced."""
    from streams import replaced  # noqa: PLC0415
    from streams.exceptions import NotOurs  # noqa: PLC0415

    raw = replaced.older(file)
    if raw is None:
        return
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found.keys() & _OURS:
        raise NotOurs(f"{file} is no schema: name another folder with --out, or move it away")
