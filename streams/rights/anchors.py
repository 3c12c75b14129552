"""Anchor files: one JSON array a line, the last line the seal of all before it.

Read whole, some 0.5 kB of memory for each skill; on disk about 110 bytes.
"""

import hmac
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from operators.anchor import ReceiptMark, SkillMark
from operators.seals import derived_key
from streams.exceptions import StreamsError
from streams.settings import Settings

FORMAT = 1
_PRIVATE = 0o600


class NoAnchor(StreamsError, ValueError):
    """A file is not an anchor of this deployment, or was edited."""


@dataclass(frozen=True)
class Anchor:
    """What an anchor file says.

    Attributes:
        since: when it was begun, in UTC.
        skills: by the pseudonym of the skill.
        receipts: by the pseudonym of the person.
    """

    since: datetime
    skills: dict[str, SkillMark] = field(default_factory=dict)
    receipts: dict[str, ReceiptMark] = field(default_factory=dict)


class AnchorFile:
    """Writes an anchor file, which nobody else may read. Use it as a context manager: a failure removes the file.

    Args:
        path: the file; there must be none yet, because an anchor is never replaced.
        settings: the deployment, with its secret.
        since: the moment before which everything was read, in UTC.

    Raises:
        NoAnchor: there is no secret to make pseudonyms with, or the file exists.
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, settings: Settings, since: datetime) -> None:
        if settings.chain_key is None:
            raise NoAnchor("an anchor needs SAGER_CHAIN_KEY: without it, its pseudonyms would name people")
        try:
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb")
        except FileExistsError:
            raise NoAnchor(f"{path} exists, and an anchor is never replaced: choose another name") from None
        self._path, self._is_wanted = path, True
        self._seal = _seal(settings)
        self._write([FORMAT, settings.prefix, since.isoformat()])

    def skill(self, mark: SkillMark) -> None:
        """Adds a skill."""
        self._write(["s", mark.person, mark.skill, mark.version, mark.seal, mark.slim, mark.rewritten])

    def receipt(self, mark: ReceiptMark) -> None:
        """Adds a receipt."""
        self._write(["r", mark.person, {name: until.isoformat() for name, until in mark.scopes.items()}])

    def discard(self) -> None:
        """Has the file removed at the end: what was read is not to be relied on."""
        self._is_wanted = False

    def _write(self, line: list[Any]) -> None:
        raw = orjson.dumps(line) + b"\n"
        self._seal.update(raw)
        self._file.write(raw)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._file.write(orjson.dumps(["seal", self._seal.hexdigest()]) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()
        if kind is not None or not self._is_wanted:
            self._path.unlink(missing_ok=True)


def load(path: Path, settings: Settings) -> Anchor:
    """The anchor in a file.

    Raises:
        NoAnchor: it is not an anchor of this deployment, or not as it was sealed.
        OSError: it cannot be read.
    """
    try:
        lines = _checked(path, settings)
        number, prefix, since = next(lines)
        if number != FORMAT or prefix != settings.prefix:
            raise NoAnchor(f"{path} is an anchor of the topic prefix {prefix!r}, not {settings.prefix!r}")
        anchor = Anchor(datetime.fromisoformat(since))
        for kind, *said in lines:
            if kind == "s":
                mark = SkillMark(*said)
                anchor.skills[mark.skill] = mark
            else:
                person, scopes = said
                reached = {name: datetime.fromisoformat(until) for name, until in scopes.items()}
                anchor.receipts[person] = ReceiptMark(person, reached)
    except (ValueError, TypeError, StopIteration, AttributeError) as error:
        if isinstance(error, NoAnchor):
            raise
        raise NoAnchor(f"{path} is no anchor file: {error}") from error
    return anchor


def _checked(path: Path, settings: Settings) -> Iterator[list[Any]]:
    """The lines of a file, once its seal has been found right."""
    seal, last, size = _seal(settings), b"", 0
    with path.open("rb") as file:
        for line in file:
            if last:
                seal.update(last)
                size += 1
            last = line
    said = orjson.loads(last or b"null")
    if said != ["seal", seal.hexdigest()]:
        raise NoAnchor(
            f"{path} is not as it was sealed: it was edited or cut, or SAGER_CHAIN_KEY is not the one that sealed it"
        )
    with path.open("rb") as file:
        for _ in range(size):
            yield orjson.loads(file.readline())


def _seal(settings: Settings) -> "hmac.HMAC":
    return hmac.new(derived_key(settings.chain_key_bytes, "anchor"), digestmod="sha256")
