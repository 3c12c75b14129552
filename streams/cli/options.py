"""Options that many commands share, and the settings that result from them."""

import os
import socket
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams import permissions
from streams.cli.output import note
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from streams.settings import Settings

CONNECT_SECONDS = 5.0

Bootstrap = Annotated[str | None, typer.Option(help="Kafka servers, instead of SAGER_BOOTSTRAP.", metavar="HOST:PORT")]
Domain = Annotated[str | None, typer.Option(help="One domain only, such as films.", metavar="DOMAIN")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
User = Annotated[str, typer.Argument(help="The user's id in the app.", metavar="USER")]
Since = Annotated[str | None, typer.Option(help="Since 30m, 24h or 7d ago, or 2026-01-31T18:00.", metavar="WHEN")]


def settings(**given: Any) -> "Settings":
    """Merge these options, the environment and the TOML file."""
    from pydantic_settings import SettingsError  # noqa: PLC0415

    from streams.settings import Settings, UnknownSetting, unknown_variables  # noqa: PLC0415

    config_file()
    for unknown in unknown_variables(os.environ):
        note(f"warning: {unknown}")
    try:
        chosen = Settings(**{name: value for name, value in given.items() if value is not None})
    except UnknownSetting as error:
        raise StreamsError(str(error)) from error
    except SettingsError as error:
        raise StreamsError(f"the configuration is wrong: {error}. Lists and maps are written as JSON") from error
    if chosen.group:
        permissions.set_umask(chosen.group)
    return chosen


def connected_settings(bootstrap: str | None) -> "Settings":
    """Return the effective configuration; raise `KafkaUnreachable` if no bootstrap server listens."""
    # Kafka's clients would wait for a broker to come up; a user at a terminal wants an answer at once.
    from streams.exceptions import KafkaUnreachable  # noqa: PLC0415

    chosen, reason = settings(bootstrap=bootstrap), ""
    for server in chosen.bootstrap.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
                return chosen
        except (OSError, ValueError) as error:
            reason = str(error)
    raise KafkaUnreachable(
        f"no server listens at {chosen.bootstrap} ({reason}): start Kafka, set SAGER_BOOTSTRAP to its address, or run "
        "`sager up`, which starts its own broker"
    )


def moment_ms(text: str | None) -> int:
    """Parse a moment, or a duration before now, into epoch milliseconds.

    >>> moment_ms("1970-01-02")
    86400000
    """
    if text is None:
        return 0
    unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}.get(text[-1:])
    try:
        if unit:
            moment = datetime.now(UTC) - timedelta(**{unit: float(text[:-1])})
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, int(moment.timestamp() * 1000))
    except (ValueError, OverflowError):
        reason = f"{text!r} is neither a duration such as 30m, 24h or 7d nor a date such as 2026-01-31"
        raise typer.BadParameter(reason) from None


def require_extra(purpose: str, extra: str, *packages: str) -> None:
    """Raise `MissingExtra` if one of the extra's packages is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415

    from streams.exceptions import MissingExtra  # noqa: PLC0415

    if missing := " and ".join(name for name in packages if find_spec(name) is None):
        raise MissingExtra(f'{purpose} needs {missing}: pip install ".[{extra}]" in a clone of the repository')


def config_file() -> dict[str, Any]:
    """Return the contents of the TOML file in `SAGER_CONFIG`; empty without one."""
    name = os.environ.get("SAGER_CONFIG")
    if not name:
        return {}
    try:
        return tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise StreamsError(f"SAGER_CONFIG names {name}, which cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StreamsError(f"SAGER_CONFIG names {name}, which is not valid TOML: {error}") from error


def examples(*lines: str) -> str:
    """Return an epilog of examples, each on a line of its own."""
    # Click re-wraps a paragraph unless it begins with \b.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
