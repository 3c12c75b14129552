"""Anchor files: one JSON array a line, the last line the seal of all lines before it.

An anchor takes about 110 bytes on disk and 0.5 kB of memory for each skill.
"""

import hmac
import os
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


class NoAnchor(StreamsError, ValueError):
    """A file is not an anchor of this deployment, or was edited."""


@dataclass(frozen=True)
class Anchor:
    """The content of an anchor file.

    Attributes:
        since: when its verification began, in UTC.
        skills: by the pseudonym of the skill.
        receipts: by the pseudonym of the person.
    """

    since: datetime
    skills: dict[str, SkillMark] = field(default_factory=dict)
    receipts: dict[str, ReceiptMark] = field(default_factory=dict)


class AnchorFile:
    """Writes a private anchor file. Use it as a context manager: a failure removes the file.

    Args:
        path: a new file; an anchor is never replaced.
        settings: the deployment, with its secret.
        since: when the verification began, in UTC.

    Raises:
        NoAnchor: there is no secret for pseudonyms, or the file exists.
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, settings: Settings, since: datetime) -> None:
        if settings.chain_key is None:
            raise NoAnchor("an anchor needs SAGER_CHAIN_KEY: without it, its pseudonyms would name people")
        try:
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except FileExistsError:
            raise NoAnchor(f"{path} exists, and an anchor is never replaced: choose another name") from None
        self._path, self._is_wanted = path, True
        self._seal = _seal(settings)
        self._write([FORMAT, settings.prefix, since.isoformat()])

    def skill(self, mark: SkillMark) -> None:
        """Add a skill."""
        self._write(["s", mark.person, mark.skill, mark.version, mark.seal, mark.slim, mark.rewritten])

    def receipt(self, mark: ReceiptMark) -> None:
        """Add a receipt."""
        self._write(["r", mark.person, {name: until.isoformat() for name, until in mark.scopes.items()}])

    def discard(self) -> None:
        """Remove the file at the end: the verification has findings."""
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
            self._write(["seal", self._seal.hexdigest()])
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()
        if kind is not None or not self._is_wanted:
            self._path.unlink(missing_ok=True)


def load(path: Path, settings: Settings) -> Anchor:
    """Return the anchor in a file.

    Raises:
        NoAnchor: it is not an anchor of this deployment, or not as it was sealed.
        OSError: it cannot be read.
    """
    seal, last = _seal(settings), b""
    with path.open("rb") as file:
        for line in file:
            seal.update(last)
            last = line
        if last != orjson.dumps(["seal", seal.hexdigest()]) + b"\n":
            raise NoAnchor(
                f"{path} is not as it was sealed: it was edited or cut, or SAGER_CHAIN_KEY is another key now"
            )
        file.seek(0)
        number, prefix, since = orjson.loads(file.readline())
        if number != FORMAT or prefix != settings.prefix:
            raise NoAnchor(f"{path} is an anchor of the topic prefix {prefix!r}, not {settings.prefix!r}")
        anchor = Anchor(datetime.fromisoformat(since))
        for line in file:
            kind, person, *rest = orjson.loads(line)
            if kind == "s":
                mark = SkillMark(person, *rest)
                anchor.skills[mark.skill] = mark
            elif kind == "r":
                scopes = {name: datetime.fromisoformat(until) for name, until in rest[0].items()}
                anchor.receipts[person] = ReceiptMark(person, scopes)
    return anchor


def _seal(settings: Settings) -> "hmac.HMAC":
    return hmac.new(derived_key(settings.chain_key_bytes, "anchor"), digestmod="sha256")
