"""Turns errors into a message with the next step and a code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | not done, for the reason in the message |
| 2 | the command line was wrong, or a confirmation is missing |
| 130 | interrupted from the keyboard |
| 141 | the reader of the output closed it, for example `head` |
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
    """Report expected errors in one message; bugs keep their traceback."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The interpreter flushes the rest of the buffer at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED_PIPE) from None
    except Exception as error:
        if _is_interruption(error):
            raise typer.Exit(INTERRUPTED) from None
        message = error_message(error)
        if message is None:
            raise
        # DuckDB and Kafka quote their input, which may be an app's text with control characters.
        print(f"sager: {printable(message)}", file=sys.stderr)
        raise typer.Exit(FAILED) from None


def error_message(error: Exception) -> str | None:
    """Return the message of an expected error; None for a bug."""
    ours = (("schemas.codec", "SchemaError"), ("operators.statinit", "UnknownParser"))
    if isinstance(error, StreamsError) or any(_is(error, *name) for name in ours):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if _is(error, "pydantic", "ValidationError"):
        return _of_validation(error)
    if _is(error, "confluent_kafka", "KafkaException"):
        return f"Kafka: {error.args[0].str()}. `sager doctor` checks the broker"
    if _is(error, "duckdb", "Error"):
        return f"DuckDB: {error}"
    return None


def _is(error: Exception, module: str, name: str) -> bool:
    """Return True for an error of this class, without importing its module."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(error, getattr(imported, name))


def _is_interruption(error: Exception) -> bool:
    """Return True for Ctrl-C that a library has turned into another error."""
    # pydantic keeps its name. confluent-kafka, interrupted in a callback, keeps it as the cause or loses it.
    if isinstance(error, SystemError):
        is_lost = "'cimpl." in str(error) and str(error).endswith("without setting an exception")
        return is_lost or isinstance(error.__cause__, KeyboardInterrupt)
    return _is(error, "pydantic_core", "PydanticSerializationError") and KeyboardInterrupt.__name__ in str(error)


def _of_validation(error: Any) -> str:
    """Name the wrong settings, but not their values: they may be secret."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if error.title == "Settings":
        fields = [str(each["loc"][0]) if each["loc"] else "" for each in details]
        names = [field if field.isupper() else f"SAGER_{field.upper()}" for field in fields]
        reasons = "; ".join(f"{name}: {each['msg']}" for name, each in zip(names, details, strict=True))
        return f"the configuration is wrong: {reasons}. `sager config --help` explains where settings come from"
    reasons = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in details[:5])
    return f"invalid {error.title}: {reasons}"
