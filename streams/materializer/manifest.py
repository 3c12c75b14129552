"""The manifest of an export, which names every file in it: nothing else is ever replaced."""

import os
from datetime import datetime
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from streams.materializer.exceptions import MaterializerError

MANIFEST = "manifest.json"
_MOST_BYTES = 64 * 1024 * 1024


class NotAnExport(MaterializerError):
    """A folder holds something else than one export; the message says what."""


class Exported(BaseModel):
    """The result for one table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str
    rows: int
    files: int
    bytes: int
    partitioned_by: tuple[str, ...]


class Manifest(BaseModel):
    """What an export holds, and how fresh it is.

    Attributes:
        layout: the snapshot's layout.
        prefix: the deployment's topic prefix.
        published_at: when the snapshot was published, in UTC.
        newest_record_at: when its newest record was sent.
        records: how many records it holds.
        since: from which moment on events were exported; None: all.
        tables: what was written, by table.
        files: the bytes of every file, by its path in the folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: int
    prefix: str
    published_at: datetime | None
    newest_record_at: datetime | None
    records: int
    since: datetime | None
    tables: dict[str, Exported]
    files: dict[str, int]

    @field_validator("files")
    @classmethod
    def _are_inside(cls, files: dict[str, int]) -> dict[str, int]:
        for name in files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or path.suffix != ".parquet" or len(path.parts) < 2:  # noqa: PLR2004
                raise ValueError(f"{name} is no file of a table")
        return files


def listed(folder: Path) -> dict[str, int]:
    """The bytes of every Parquet file in a folder, by path."""
    return {file.relative_to(folder).as_posix(): file.stat().st_size for file in sorted(folder.rglob("*.parquet"))}


def exported(folder: Path) -> list[Path]:
    """Everything in a folder that is one export and nothing else: its files, then its folders from the innermost out.

    Raises:
        NotAnExport: there is no valid manifest, anything that it does not name, or a file of another size.
        OSError: it cannot be read.
    """
    manifest = _read(folder / MANIFEST)
    if foreign := next((name for name in manifest.files if PurePosixPath(name).parts[0] not in manifest.tables), None):
        raise NotAnExport(f"{folder} is not only an export: its {MANIFEST} has no table of {foreign}")
    files = {folder / name for name in manifest.files} | {folder / MANIFEST}
    folders = {folder / table for table in manifest.tables}
    for file in files:
        folders.update(each for each in file.parents if each.is_relative_to(folder) and each != folder)
    found: list[Path] = []
    inner: list[Path] = []
    for place, names, others in os.walk(folder):
        here = Path(place)
        for name in (*names, *others):
            each = here / name
            is_folder = each.is_dir() and not each.is_symlink()
            if each.is_symlink() or each not in (folders if is_folder else files):
                raise NotAnExport(f"{folder} is not only an export: its {MANIFEST} does not name {each}")
            written = None if is_folder else manifest.files.get(each.relative_to(folder).as_posix())
            if written is not None and each.lstat().st_size != written:
                raise NotAnExport(f"{folder} is not only an export: {each} is not the file that was exported")
            (inner if is_folder else found).append(each)
    return [*found, *reversed(inner)]


def _read(file: Path) -> Manifest:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_BYTES:
        raise NotAnExport(f"{file.parent} is not empty and not an export: it has no {MANIFEST} of one")
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except ValidationError:
        raise NotAnExport(
            f"{file.parent} is not empty, and its {MANIFEST} is not one of an export of this release"
        ) from None
