"""What goes between the page and the process that answers a query: JSON, an object a line."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

LINE_BYTES = 4 * 1024 * 1024
"""Longest line that is read; rows are sent in lines of about a quarter of it."""
CHUNK_BYTES = LINE_BYTES // 8
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Question:
    """What the process is to answer, and within which limits.

    Attributes:
        file, prefix: the snapshot, and the deployment that it must belong to.
        query: one reading statement.
        seconds, memory_bytes: see `streams.materializer.asking`.
        rows: most rows that are wanted.
        letters: longest text of a value; the rest is cut.
    """

    file: str
    prefix: str
    query: str
    seconds: float
    memory_bytes: int
    rows: int
    letters: int

    def encode(self) -> bytes:
        """As a line."""
        return orjson.dumps(asdict(self)) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "Question":
        """From a line."""
        return cls(**orjson.loads(line))


@dataclass(frozen=True)
class Frame:
    """One thing that the process says.

    Attributes:
        kind: `started`; `at`, with the progress in percent; `columns`, names with types; `rows`; `end`, with whether
            there are more rows; `failed`, with why.
        content: what belongs to it.
    """

    kind: str
    content: Any

    def encode(self) -> bytes:
        """As a line."""
        return orjson.dumps([self.kind, self.content]) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "Frame":
        """From a line.

        Raises:
            ValueError: it is none.
        """
        kind, content = orjson.loads(line)
        return cls(kind, content)


Row = Sequence[Cell]
