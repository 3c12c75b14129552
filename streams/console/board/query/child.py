"""The process that answers one query, and ends.

`asking` starts it with an empty environment, so that no secret is in it. It limits itself before it looks at the
query; values leave it as short text.
"""

import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from streams.console.board.query.frames import CHUNK_BYTES, Cell, Frame, Question
from streams.materializer.asking import Advice, results, told
from streams.settings import Settings

NICENESS = 10
"""Answers of the API come first."""
SAFE_INTEGER = 2**53
"""Beyond, what reads JSON may not have the same number."""
HERE = Advice(
    seconds="ask for less; `sager sql` can be given more time",
    memory="ask for less; `sager sql` can be given more memory",
    names="the list beside the query has the names of all tables, views and macros, and of their columns",
)


def main() -> None:
    """Answers the question on stdin on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked ends this process
    os.nice(NICENESS)
    with suppress(OSError):  # where memory runs out, this process goes, and not the server
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    question = Question.decode(sys.stdin.buffer.readline())
    sending = threading.Lock()

    def send(kind: str, content: Any) -> None:
        line = Frame(kind, content).encode()
        with sending:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    try:
        for frame in _frames(question, send):
            send(frame.kind, frame.content)
    except BrokenPipeError:  # nobody wants the rest
        pass
    except Exception as error:  # to be told to whoever asked, whatever it is
        send("failed", told(error, question.seconds, question.memory_bytes, HERE))
    finally:
        sys.stdout.flush()
        os._exit(0)


def _frames(question: Question, send: Callable[[str, Any], None]) -> Iterator[Frame]:
    settings = Settings(duckdb=Path(question.file), prefix=question.prefix)
    left = question.rows
    for kind, content in results(settings, question.query, [], question.seconds, question.memory_bytes, send):
        if kind == "columns":
            yield Frame("columns", [[_cut(name, question.letters), type_] for name, type_ in content])
        elif kind == "rows":
            wanted = content[:left]
            for rows in _chunks(wanted, question.letters):
                yield Frame("rows", rows)
            left -= len(wanted)
            if len(wanted) < len(content) or not content:
                yield Frame("end", len(wanted) < len(content))
                return
        else:
            yield Frame(kind, content)
    yield Frame("end", False)


def _chunks(rows: Sequence[Sequence[Any]], letters: int) -> Iterator[list[list[Cell]]]:
    """The rows as they are sent, in chunks that do not grow with what is in a cell."""
    chunk: list[list[Cell]] = []
    size = 0
    for row in rows:
        cells = [as_cell(value, letters) for value in row]
        chunk.append(cells)
        size += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        if size > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def as_cell(value: Any, letters: int) -> Cell:
    r"""A value of DuckDB as JSON has it: numbers that JSON has as numbers, all else as text.

    >>> as_cell(2**60, 30), as_cell(float("inf"), 9), as_cell([1, 2], 9), as_cell(b"\x00", 9), as_cell("abc", 2)
    ('1152921504606846976', 'inf', '[1, 2]', '00', 'ab… (3 characters)')
    """
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) <= SAFE_INTEGER):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, bytes):
        text = value[:letters].hex()
        return text if len(value) <= letters else f"{text}… ({len(value):,} bytes)"
    return _cut(value if isinstance(value, str) else str(value), letters)


def _cut(text: str, letters: int) -> str:
    # What JSON cannot hold, such as half a pair of surrogates, becomes a question mark.
    if len(text) > letters:
        text = f"{text[:letters]}… ({len(text):,} characters)"
    return text.encode(errors="replace").decode()


if __name__ == "__main__":
    main()
