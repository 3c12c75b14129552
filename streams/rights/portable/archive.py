"""A portable folder as one zip file, for HTTP. One that comes in is hostile until `load` has checked it."""

import zipfile
import zlib
from pathlib import Path
from typing import IO, BinaryIO

from schemas import TOPICS
from streams.rights.portable.exceptions import NotPortable
from streams.rights.portable.manifest import MANIFEST, TABLES_FOLDER, TOPICS_FOLDER, topic_file
from streams.rights.portable.page import PAGE

MAX_MEMBERS = 300
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
_CHUNK = 256 * 1024
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What `pack` writes. Of the other methods Python unpacks a whole piece at once: gigabytes, of a few hundred bytes."""


def pack(folder: Path, out: BinaryIO) -> None:
    """Writes a folder of `export` as a zip file.

    Raises:
        OSError: it cannot be read or written.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())


def unpack(source: BinaryIO, folder: Path) -> None:
    """Unpacks what `load` reads into an empty folder: the manifest and topics' records. Tables and page are left out.

    Raises:
        NotPortable: it is no zip file of an export, or unpacks to more than `MAX_UNPACKED_BYTES`.
        OSError: it cannot be written.
    """
    targets = {MANIFEST: folder / MANIFEST}
    targets |= {f"{TOPICS_FOLDER}/{base}.jsonl": topic_file(folder, base) for base in TOPICS}
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
    """Copies at most so many bytes; what a zip file says of its sizes is not relied on."""
    size = 0
    while chunk := packed.read(_CHUNK):
        size += len(chunk)
        if size > most:
            raise NotPortable(f"the zip file unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
        out.write(chunk)
    return size
