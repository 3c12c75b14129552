"""`sager config`: the effective configuration."""

import os
import re
from typing import TYPE_CHECKING, Any

import typer

from streams.cli.options import AsJson, config_file, examples, settings
from streams.cli.output import console, print_json, row, table

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "config",
        short_help="Print the effective configuration.",
        epilog=examples("sager config", "SAGER_CONFIG=sager.toml sager config --json"),
    )(config)


def config(as_json: AsJson = False) -> None:
    """Print the effective configuration, and where each value comes from.

    Environment variables win over the TOML file that SAGER_CONFIG names, which wins over the defaults. Its keys are
    the variables' names without SAGER_, in lower case. Secrets are hidden.
    """
    chosen = settings()
    fields = type(chosen).model_fields
    known = chosen.model_dump(mode="json")
    origins = _origins(fields)
    values = {name: _shown(known[name]) for name in fields}
    if as_json:
        print_json({name: {"value": values[name], "source": origins[name]} for name in fields})
        return
    made = table("setting", "value", "from", "meaning", title="effective configuration")
    for name, field in fields.items():
        value = "" if values[name] is None else values[name]
        style = "dim" if origins[name] == "default" else None
        row(made, [f"SAGER_{name.upper()}", value, origins[name], field.description or ""], style)
    console().print(made)


def _shown(value: Any) -> Any:
    """Return a value without credentials; pydantic has already hidden secrets."""
    return _CREDENTIALS.sub("***@", value) if isinstance(value, str) else value


def _origins(fields: "dict[str, FieldInfo]") -> dict[str, str]:
    environment = {name.upper() for name in os.environ}
    file = {name.lower() for name in config_file()}
    return {name: _origin(name, field, environment, file) for name, field in fields.items()}


def _origin(name: str, field: "FieldInfo", environment: set[str], file: set[str]) -> str:
    choices = getattr(field.validation_alias, "choices", [f"SAGER_{name.upper()}"])
    for variable in choices:
        if str(variable).upper() in environment:
            return str(variable).upper()
    if name in file or file.intersection(str(choice).lower() for choice in choices):
        return os.environ.get("SAGER_CONFIG", "file")
    return "default"
