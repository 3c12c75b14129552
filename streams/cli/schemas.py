"""`sager schemas export`: JSON Schemas, the AsyncAPI and the OpenAPI document."""

from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import examples, settings
from streams.cli.output import json_text, note, print_json

_EXAMPLE = examples("sager schemas export --out schemas/")
app, group = typer.Typer(), typer.Typer(no_args_is_help=True, help="The events' schemas.", epilog=_EXAMPLE)
app.add_typer(group, name="schemas")


@group.command(epilog=examples("sager schemas export --out schemas/", "sager schemas export > asyncapi.json"))
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
