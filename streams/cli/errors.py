"""From errors to what a user reads: one message on stderr that says what to do next, and a code that says how it went.

| code | meaning |
|---|---|
| 0 | done |
| 1 | not done, for a reason that the message tells |
| 2 | the command line was wrong, or a confirmation is missing |
| 130 | interrupted from the keyboard |
| 141 | whoever read the output closed it, as `head` does |
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from streams.cli.output import printable
from streams.exceptions import StreamsError

FAILED, WRONG_USE, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141


class Misconfigured(StreamsError, ValueError):
    """A setting is wrong; the message names its variable."""


class ReportingGroup(TyperGroup):
    """The command line as a whole: whatever its commands raise on purpose becomes a message and a code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with reported():
            return super().invoke(ctx)


@contextmanager
def reported() -> Iterator[None]:
    """Errors raised on purpose, told in one message; all others are bugs and keep their traceback."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(CLOSED_PIPE) from None
    except Exception as error:
        told = told_by(error)
        if told is None:
            raise
        # DuckDB and Kafka quote what they stumbled over, and that may be an app's text.
        print(f"sager: {printable(told)}", file=sys.stderr)
        raise typer.Exit(FAILED) from None


def _discard_output() -> None:
    """Nobody reads it any more: what is still buffered must not fail again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def told_by(error: Exception) -> str | None:
    """What to tell the user of an error; None if it is a bug of ours."""
    if isinstance(error, (StreamsError, OSError)) or _is(error, "schemas.exceptions", "SchemaError"):
        return str(error)
    if _is(error, "pydantic", "ValidationError"):
        return explain(error)
    if _is(error, "confluent_kafka", "KafkaException"):
        return f"Kafka says: {error.args[0].str()}. `sager topics` tells whether it answers"
    if _is(error, "duckdb", "Error"):
        return f"DuckDB says: {error}"
    if _is(error, "operators.statinit.parsers", "UnknownParser"):
        return str(error)
    return None


def _is(error: Exception, module: str, name: str) -> bool:
    """Whether it is of a class in a module that may never have been imported: imports take time."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(error, getattr(imported, name))


def explain(error: Any) -> str:
    """Of a pydantic ValidationError: which setting or field is wrong; never its value, which may be a secret."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if error.title == "Settings":
        told = "; ".join(f"{variable(str(e['loc'][0]) if e['loc'] else '')}: {e['msg']}" for e in details)
        return f"the configuration is wrong: {told}. `sager config --help` tells where settings come from"
    told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in details[:5])
    return f"this is no valid {error.title}: {told}"


def variable(field: str) -> str:
    """The environment variable of a setting.

    >>> variable("partitions"), variable("OPENAI_API_KEY")
    ('SAGER_PARTITIONS', 'OPENAI_API_KEY')
    """
    return field if field.isupper() else f"SAGER_{field.upper()}"
