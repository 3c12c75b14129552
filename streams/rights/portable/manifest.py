"""The manifest of a portable folder."""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from schemas import Digest, Model
from schemas.fields import UserIdField, UtcDatetime

MANIFEST = "manifest.json"
TOPICS_FOLDER, TABLES_FOLDER = "topics", "tables"
FORMAT: Literal["sager-portable-1"] = "sager-portable-1"
MAX_MANIFEST_BYTES = 1024 * 1024
_CHUNK = 1024 * 1024

Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=100)]


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

    format: Literal["sager-portable-1"] = FORMAT
    user_id: UserIdField
    prefix: Annotated[str, Field(max_length=100)]
    exported_at: UtcDatetime
    topics: dict[Name, TopicFile] = Field(default_factory=dict, max_length=100)
    tables: dict[Name, File] = Field(default_factory=dict, max_length=100)
    snapshot_at: UtcDatetime | None = Field(
        default=None, description="When the DuckDB snapshot was published; none: there was no snapshot."
    )


def topic_file(folder: Path, base: str) -> Path:
    """The path of a topic's records. Never taken from a manifest."""
    return folder / TOPICS_FOLDER / f"{base}.jsonl"


def digest_of(file: Path) -> str:
    """The file's SHA-256."""
    digest = hashlib.sha256()
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
