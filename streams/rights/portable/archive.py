"""The format of a portable folder: its manifest, its files, and the folder as one zip file.

A folder or zip file from outside is hostile until `load` has checked it.
"""

import hashlib
import zipfile
import zlib
from pathlib import Path
from typing import IO, Annotated, BinaryIO, Literal

from pydantic import Field

from schemas import TOPICS, Digest, Model
from schemas.fields import UserIdField, UtcDatetime
from streams.exceptions import StreamsError

MANIFEST, PAGE = "manifest.json", "index.html"
TOPICS_FOLDER, TABLES_FOLDER = "topics", "tables"
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_MEMBERS = 300
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
_CHUNK = 256 * 1024
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The methods of `pack`. Python unpacks a whole piece of the others at once: gigabytes from a few hundred bytes."""

Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=100)]


class NotPortable(StreamsError, ValueError):
    """A folder is not a person's export, or was changed since; or a new one cannot be created there."""


class File(Model):
    """One file of the folder, with its record count and SHA-256."""

    records: Count
    sha256: Digest


class TopicFile(File):
    """The records of one topic: when the first and last were sent, and how long the topic keeps them."""

    first: UtcDatetime | None = None
    last: UtcDatetime | None = None
    kept_days: float | None = Field(default=None, description="None: the newest per key, until it is forgotten.")
    note: Annotated[str, Field(max_length=300)] = ""


class Manifest(Model):
    """The manifest. It contains no secret."""

    format: Literal["sager-portable-1"] = "sager-portable-1"
    user_id: UserIdField
    prefix: Annotated[str, Field(max_length=100)]
    exported_at: UtcDatetime
    topics: dict[Name, TopicFile] = Field(default_factory=dict, max_length=100)
    tables: dict[Name, File] = Field(default_factory=dict, max_length=100)
    snapshot_at: UtcDatetime | None = Field(
        default=None, description="When the DuckDB snapshot was published; none: there was no snapshot."
    )


def topic_file(folder: Path, base: str) -> Path:
    """Return the path of a topic's records. Never taken from a manifest."""
    return folder / TOPICS_FOLDER / f"{base}.jsonl"


def digest_of(file: Path) -> str:
    """Return the file's SHA-256."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def pack(folder: Path, out: BinaryIO) -> None:
    """Write a folder of `export` as a zip file."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())


def unpack(source: BinaryIO, folder: Path) -> None:
    """Unpack the manifest and the topics' records into an empty folder, without tables and page.

    Raises:
        NotPortable: it is not the zip file of an export, or unpacks to more than `MAX_UNPACKED_BYTES`.
    """
    targets = {f"{TOPICS_FOLDER}/{base}.jsonl": topic_file(folder, base) for base in TOPICS}
    targets[MANIFEST] = folder / MANIFEST
    (folder / TOPICS_FOLDER).mkdir(mode=0o700)
    left = MAX_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS or len({each.filename for each in members}) < len(members):
                raise NotPortable("the zip file has more files than an export, or two of one name")
            for member in members:
                target = targets.get(member.filename)
                if target is None:
                    if not member.filename.startswith((f"{TABLES_FOLDER}/", f"{TOPICS_FOLDER}/", PAGE)):
                        raise NotPortable("the zip file has a file that no export has")
                    continue
                if member.flag_bits & _ENCRYPTED:
                    raise NotPortable("the zip file is encrypted")
                if member.compress_type not in _METHODS:
                    raise NotPortable("the zip file is packed by another method than an export's, which is deflate")
                with archive.open(member) as packed, target.open("xb") as out:
                    left -= _copy(packed, out, left)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, UnicodeError) as error:
        raise NotPortable("it is no zip file of an export, or it is damaged") from error


def _copy(packed: IO[bytes], out: BinaryIO, most: int) -> int:
    """Copy up to a number of bytes. The sizes that a zip file states may be wrong."""
    size = 0
    while chunk := packed.read(_CHUNK):
        size += len(chunk)
        if size > most:
            raise NotPortable(f"the zip file unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
        out.write(chunk)
    return size
