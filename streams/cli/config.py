"""`sager config`: the effective configuration."""

import os
import re
from typing import TYPE_CHECKING

import typer

from streams.cli.options import AsJson, config_file, examples, settings
from streams.cli.output import json_text, print_json, print_rows

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")

app = typer.Typer()


@app.command(
    short_help="Print the effective configuration.", epilog=examples("SAGER_CONFIG=sager.toml sager config --json")
)
def config(as_json: AsJson = False) -> None:
    """Print the effective configuration, and the source of each value. Secrets are hidden.

    Environment variables override the TOML file in SAGER_CONFIG, which overrides the defaults. The file's keys are the
    variables' names in lower case, without SAGER_.
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
    for name, field in fields.items():
        value = values[name] if isinstance(values[name], str) else json_text(values[name])
        where = {"setting": f"SAGER_{name.upper()}", "value": value, "from": sources[name]}
        rows.append({**where, "meaning": field.description or ""})
    print_rows(rows, "effective configuration")


def _source(name: str, field: "FieldInfo", environment: set[str], file: set[str]) -> str:
    choices = [str(choice) for choice in getattr(field.validation_alias, "choices", [f"SAGER_{name}"])]
    for variable in choices:
        if variable.upper() in environment:
            return variable.upper()
    if name in file or file.intersection(choice.lower() for choice in choices):
        return os.environ.get("SAGER_CONFIG", "file")
    return "default"
