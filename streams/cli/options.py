"""Options shared by many commands, and the settings they lead to."""

import os
import socket
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams import private
from streams.cli.errors import Misconfigured
from streams.cli.output import note

if TYPE_CHECKING:
    from streams.settings import Settings

CONNECT_SECONDS = 5.0

Bootstrap = Annotated[
    str | None, typer.Option(help="Kafka's bootstrap servers, instead of SAGER_BOOTSTRAP.", metavar="HOST:PORT")
]
Domain = Annotated[str | None, typer.Option(help="One domain only, such as films.", metavar="DOMAIN")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
User = Annotated[str, typer.Argument(help="The user, as the app names them.", metavar="USER")]


def settings(**given: Any) -> "Settings":
    """The effective configuration: these options, where given, then the environment, then the TOML file.

    Raises:
        Misconfigured: the file is missing or no TOML, or a value cannot be read at all.
        ValidationError: a value is not allowed.
    """
    from pydantic_settings import SettingsError  # noqa: PLC0415

    from streams.settings import Settings, UnknownSetting, unknown_variables  # noqa: PLC0415

    config_file()
    for told in unknown_variables(os.environ):
        note(f"warning: {told}")
    try:
        chosen = Settings(**{name: value for name, value in given.items() if value is not None})
    except UnknownSetting as error:
        raise Misconfigured(str(error)) from error
    except SettingsError as error:
        raise Misconfigured(f"the configuration is wrong: {error}. Lists and maps are written as JSON") from error
    if chosen.group:
        private.begin(chosen.group)
    return chosen


def reachable(chosen: "Settings") -> "Settings":
    """The same settings, once somebody listens at one of the bootstrap servers.

    Kafka's clients wait long for a broker that may still come; somebody at a terminal wants to be told at once.

    Raises:
        BrokerUnreachable: nobody does.
    """
    from streams.exceptions import BrokerUnreachable  # noqa: PLC0415

    told = ""
    for server in chosen.bootstrap.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
                return chosen
        except (OSError, ValueError) as error:
            told = str(error)
    raise BrokerUnreachable(
        f"nobody listens at {chosen.bootstrap} ({told}): start Kafka, or set SAGER_BOOTSTRAP to where it is; "
        "`sager up` brings its own"
    )


def config_file() -> dict[str, Any]:
    """What the TOML file named by `SAGER_CONFIG` says; nothing if none is named.

    Raises:
        Misconfigured: it is missing, or no TOML.
    """
    name = os.environ.get("SAGER_CONFIG")
    if not name:
        return {}
    try:
        return tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise Misconfigured(f"SAGER_CONFIG names {name}, which cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"SAGER_CONFIG names {name}, which is no TOML: {error}") from error


def examples(*lines: str) -> str:
    """An epilog of examples, each on a line of its own."""
    # \b keeps the lines of its paragraph apart.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
