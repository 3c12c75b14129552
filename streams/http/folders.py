"""Exports and imports of the API: a portable folder as one zip file. All of it blocks."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from streams.http.problems import Problem
from streams.rights import portable
from streams.settings import Settings

ZIP = "application/zip"
_CHUNK = 256 * 1024


def exported(settings: Settings, user: str) -> BinaryIO | None:
    """An open file with everything held about a user, already deleted; None if nothing is held.

    Raises:
        BrokerUnreachable, MaterializerError: not everything can be read.
    """
    with tempfile.TemporaryDirectory(prefix="sager-export-") as place:
        folder = Path(place) / "export"
        manifest = portable.export(settings, user, folder)
        if not manifest.topics and not manifest.tables:
            return None
        out = tempfile.TemporaryFile(dir=place)  # noqa: SIM115 - whoever sends it closes it
        portable.pack(folder, out)
        return out


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """The file from its beginning; closed at the end."""
    with file:
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk


@contextmanager
def imported(body: bytes) -> Iterator[portable.Bundle]:
    """The checked folder of a body, while within.

    Raises:
        Problem: it is no export. The text names the file and line in it.
    """
    with tempfile.TemporaryDirectory(prefix="sager-import-") as place:
        folder = Path(place)
        try:
            portable.unpack(BytesIO(body), folder)
            yield portable.load(folder)
        except portable.NotPortable as error:
            raise Problem(422, str(error).replace(f"{folder}/", "").replace(str(folder), "the export")) from None
