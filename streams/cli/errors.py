"""Turns errors into one message on stderr that says what to do next, and an exit code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | not done, for a reason that the message tells |
| 2 | the command line was wrong, or a confirmation is missing |
| 130 | interrupted from the keyboard |
| 141 | whoever read the output closed it, as `head` does |
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from streams.cli.groups import HEADINGS, HeadedGroup
from streams.cli.output import printable
from streams.exceptions import StreamsError

FAILED, WRONG_USE, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141


class Misconfigured(StreamsError, ValueError):
    """A setting is wrong; the message names its variable."""


class ReportingGroup(HeadedGroup):
    """The top-level group: errors that commands raise on purpose become a message and an exit code."""

    headings = HEADINGS

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with reported():
            return super().invoke(ctx)


@contextmanager
def reported() -> Iterator[None]:
    """Report errors raised on purpose in one message; all others are bugs and keep their traceback."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(CLOSED_PIPE) from None
    except Exception as error:
        if _is_interruption(error):
            raise typer.Exit(INTERRUPTED) from None
        told = told_by(error)
        if told is None:
            raise
        # DuckDB and Kafka quote the offending input, which may be an app's text.
        print(f"sager: {printable(told)}", file=sys.stderr)
        raise typer.Exit(FAILED) from None


def _discard_output() -> None:
    """Nobody reads it any more: what is still buffered must not fail again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def told_by(error: Exception) -> str | None:
    """What to tell the user of an error; None if it is a bug of ours."""
    ours = (("schemas.exceptions", "SchemaError"), ("operators.statinit.parsers", "UnknownParser"))
    if isinstance(error, StreamsError) or any(_is(error, *name) for name in ours):
        return str(error)
    if isinstance(error, OSError):
        return of_os(error)
    if _is(error, "pydantic", "ValidationError"):
        return explain(error)
    if _is(error, "confluent_kafka", "KafkaException"):
        return f"Kafka says: {error.args[0].str()}. `sager topics` tells whether it answers"
    if _is(error, "duckdb", "Error"):
        return f"DuckDB says: {error}"
    return None


_ADVICE = {
    errno.ENOENT: "it is not there, and cannot be made there: check the path",
    errno.EACCES: "you may not read or write it: check its permissions, or choose another path",
    errno.EPERM: "you may not read or write it: check its permissions, or choose another path",
    errno.EROFS: "that file system is read-only: choose another path",
    errno.ENOTDIR: "a file stands where a folder is wanted: choose another path",
    errno.EISDIR: "a folder stands where a file is wanted: choose another path",
    errno.EEXIST: "something of that name is there already: choose another path, or move it away",
    errno.ENOSPC: "the disk is full: make room and start again",
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n)",
}


def of_os(error: OSError) -> str:
    """What to tell of an error of the operating system: the path, and what to do.

    >>> of_os(NotADirectoryError(errno.ENOTDIR, "Not a directory", "notes.txt"))
    'notes.txt: a file stands where a folder is wanted: choose another path'
    """
    advice = _ADVICE.get(error.errno or 0)
    if advice is None:
        return str(error)
    return f"{error.filename}: {advice}" if error.filename else advice


def _is(error: Exception, module: str, name: str) -> bool:
    """Whether it is of a class in a module that may never have been imported: imports take time."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(error, getattr(imported, name))


def _is_interruption(error: Exception) -> bool:
    """Return true for Ctrl-C, which two libraries that call Python turn into another error.

    pydantic keeps its name. librdkafka's client, when a callback is interrupted, keeps it as the cause or loses it.
    """
    if isinstance(error, SystemError):
        lost = "'cimpl." in str(error) and str(error).endswith("without setting an exception")
        return lost or isinstance(error.__cause__, KeyboardInterrupt)
    return _is(error, "pydantic_core", "PydanticSerializationError") and KeyboardInterrupt.__name__ in str(error)


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
