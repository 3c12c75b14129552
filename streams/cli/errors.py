"""Turns errors into one message on stderr that names the next step, and an exit code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | not done, for the reason in the message |
| 2 | the command line was wrong, or a confirmation is missing |
| 130 | interrupted from the keyboard |
| 141 | the reader of the output closed it, as `head` does |
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from streams.cli.output import printable
from streams.exceptions import StreamsError

FAILED, WRONG_USE, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141


@contextmanager
def report_errors() -> Iterator[None]:
    """Report errors raised on purpose in one message; all others are bugs and keep their traceback."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The rest of the buffer must not fail again when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        raise typer.Exit(CLOSED_PIPE) from None
    except Exception as error:
        if _is_interruption(error):
            raise typer.Exit(INTERRUPTED) from None
        message = error_message(error)
        if message is None:
            raise
        # DuckDB and Kafka quote the offending input, which may be an app's text.
        print(f"sager: {printable(message)}", file=sys.stderr)
        raise typer.Exit(FAILED) from None


def error_message(error: Exception) -> str | None:
    """Return the message of an error; None if it is a bug of ours."""
    ours = (("schemas.codec", "SchemaError"), ("operators.statinit.parsers", "UnknownParser"))
    if isinstance(error, StreamsError) or any(_is(error, *name) for name in ours):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if _is(error, "pydantic", "ValidationError"):
        return _of_validation(error)
    if _is(error, "confluent_kafka", "KafkaException"):
        return f"Kafka: {error.args[0].str()}. `sager doctor` examines the broker"
    if _is(error, "duckdb", "Error"):
        return f"DuckDB: {error}"
    return None


def _is(error: Exception, module: str, name: str) -> bool:
    """Return true if an error is of a class in a module that may not have been imported: imports take time."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(error, getattr(imported, name))


def _is_interruption(error: Exception) -> bool:
    """Return true for Ctrl-C, which two libraries that call Python turn into another error.

    pydantic keeps its name. librdkafka's client, when a callback is interrupted, keeps it as the cause or loses it.
    """
    if isinstance(error, SystemError):
        is_lost = "'cimpl." in str(error) and str(error).endswith("without setting an exception")
        return is_lost or isinstance(error.__cause__, KeyboardInterrupt)
    return _is(error, "pydantic_core", "PydanticSerializationError") and KeyboardInterrupt.__name__ in str(error)


def _of_validation(error: Any) -> str:
    """Return which setting or field is wrong; never its value, which may be a secret."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if error.title == "Settings":
        fields = [str(each["loc"][0]) if each["loc"] else "" for each in details]
        names = [field if field.isupper() else f"SAGER_{field.upper()}" for field in fields]
        reasons = "; ".join(f"{name}: {each['msg']}" for name, each in zip(names, details, strict=True))
        return f"the configuration is wrong: {reasons}. `sager config --help` explains where settings come from"
    reasons = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in details[:5])
    return f"this is no valid {error.title}: {reasons}"
