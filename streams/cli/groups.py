"""The commands by heading of `sager --help`, each imported on use: importing all takes longer than most commands."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup

from streams.cli.errors import report_errors

HEADINGS: dict[str, dict[str, str]] = {
    "Getting started": {
        "demo": "demo",
        "up": "up",
        "import": "data.importing",
        "doctor": "operations.deployment",
        "config": "config",
    },
    "A person's policy": {"policy": "policy", "card": "card", "slim": "slim", "mcp": "mcp"},
    "Data and analysis": {
        "sql": "data.sql",
        "replay": "data.replay",
        "global-skill": "operations.global_skill",
        "schemas": "data.schemas",
    },
    "Operations": {
        "worker": "processes",
        "materialize": "processes",
        "serve": "processes",
        "webhooks": "processes",
        "console": "processes",
        "topics": "operations.deployment",
        "acls": "operations.deployment",
        "token": "operations.token",
        "dead-letters": "operations.dead_letters",
        "rebuild": "operations.rebuild",
        "weights": "operations.weights",
    },
    "Evaluation": {"eval": "evaluation.leave_one_out"},
}


class Commands(Mapping[str, Any]):
    """The commands by name, each loaded on access from the `app` of its module in `streams.cli`."""

    def __init__(self, headings: Mapping[str, Mapping[str, str]]) -> None:
        self._modules = {name: module for listed in headings.values() for name, module in listed.items()}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module = import_module(f"streams.cli.{self._modules[name]}")
            app = typer.Typer(rich_markup_mode=None)  # rich's boxes take twice as long
            app.add_typer(module.app)
            self._loaded |= typer.main.get_group(app).commands
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class HeadedGroup(TyperGroup):
    """The top-level group: its help lists the commands under headings."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = cast("dict[str, Any]", Commands(HEADINGS))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; turn expected errors into a message and an exit code."""
        with report_errors():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, one per line."""
        widest = max(map(len, self.commands))
        limit = formatter.width - 6 - widest
        for heading, listed in HEADINGS.items():
            with formatter.section(heading):
                # Padded, so that the columns of all headings align.
                lines = [(f"{name:<{widest}}", self.commands[name].get_short_help_str(limit)) for name in listed]
                formatter.write_dl(lines)
