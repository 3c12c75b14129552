"""What holds people's data is private: files and folders that others can neither read nor list.

Folders are 0700 and files at most 0640. With a group of its own (`SAGER_GROUP`) folders are 2750 of that group, so
that whatever is made in them belongs to it too. The process's umask makes new files private, whoever makes them;
`tighten` does so with existing ones.
"""

import grp
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from streams.exceptions import StreamsError

FOLDER, SHARED_FOLDER, FILE = 0o700, 0o2750, 0o640
OURS = (
    *("live.duckdb*", "sager.duckdb*", "spill", "worker", "journal", "logs", "replays", "quality*"),
    *("pseudonyms.key*", "token", "tokens.toml", "*.log", "*.log.1"),
)
"""What a data folder holds. One that holds anything else was not made for us alone, and is not closed as a whole."""

log = logging.getLogger(__name__)


class GroupUnusable(StreamsError, ValueError):
    """SAGER_GROUP names no group, or one that this process may not give its files to."""


def begin(group: str | None = None) -> int:
    """Makes all files and folders that this process will create private; returns the umask before."""
    return os.umask(0o027 if group else 0o077)


def make(folder: Path, group: str | None = None) -> Path:
    """Makes a folder private, and those of its parents that are missing. One that is there stays as it is.

    Raises:
        GroupUnusable: see `give`.
        OSError: it cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        # What is in a group's folder belongs to it, and is no more open for that.
        each.chmod(FOLDER | each.stat().st_mode & stat.S_ISGID)
    if missing and group:
        give(folder, group)
        folder.chmod(SHARED_FOLDER)
    return folder


def give(path: Path, group: str) -> None:
    """Gives a file or folder to a group.

    Raises:
        GroupUnusable: there is no such group, or this process is no member of it.
    """
    try:
        number = int(group) if group.isdecimal() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise GroupUnusable(f"SAGER_GROUP={group}: there is no such group on this machine") from None
    if path.lstat().st_gid == number:
        return
    try:
        os.chown(path, -1, number, follow_symlinks=False)
    except PermissionError as error:
        raise GroupUnusable(
            f"SAGER_GROUP={group}: {path} cannot be given to it. Make this process's user a member of that group"
        ) from error


def tighten(folder: Path, group: str | None = None, ours: Iterable[str] = ()) -> None:
    """Closes a folder of ours, and all in it, that another umask has left open.

    Links are not followed, and files of other users stay as they are. In a folder that is open and holds more than
    ours, only ours is closed.

    Args:
        folder: the folder; it exists.
        group: who may read besides its owner.
        ours: further names of ours in it; patterns.

    Raises:
        GroupUnusable: see `give`.
    """
    folder = folder.resolve()
    names = (*OURS, *ours)
    found = sorted(folder.iterdir())
    foreign = [each.name for each in found if not any(fnmatch(each.name, name) for name in names)]
    if _is_open(folder.lstat(), group) and (foreign or _is_everybodys(folder)):
        found = [each for each in found if each.name not in foreign]
        log.warning(
            "%s is open to others (%o) and holds what is not ours (%s): only our own files in it are made private. "
            "Close it with chmod 700, or name a folder of its own with SAGER_DATA_DIR or SAGER_DUCKDB",
            folder, stat.S_IMODE(folder.lstat().st_mode), ", ".join(foreign[:3]) or "whatever others put there",
        )  # fmt: skip
    else:
        _close(folder, group, top=True)
    for each in found:
        for path in _below(each):
            with suppress(FileNotFoundError):  # another process of ours is at work, with files that come and go
                _close(path, group)


def _is_everybodys(folder: Path) -> bool:
    return bool(folder.lstat().st_mode & stat.S_ISVTX) or folder in (Path("/"), Path.home())


def exposed(folder: Path, group: str | None = None) -> Iterator[Path]:
    """The folder and all paths in it that others can read or change, against what this module promises."""
    for path in _below(folder.resolve()):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if _is_open(found, group):
            yield path


def is_secret(file: Path) -> bool:
    """Whether nobody but its owner, and its group for reading, can get at a file that holds a secret."""
    return not stat.S_IMODE(file.stat().st_mode) & ~(FILE | 0o100)


def _is_open(found: os.stat_result, group: str | None) -> bool:
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return False
    if stat.S_ISDIR(found.st_mode):
        return bool(mode & ~(SHARED_FOLDER if group else FOLDER) & 0o777)
    return bool(mode & ~(FILE | 0o100) & 0o777)


def _close(path: Path, group: str | None, *, top: bool = False) -> None:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid():
        return
    mode = stat.S_IMODE(found.st_mode)
    if group:
        give(path, group)
    if stat.S_ISDIR(found.st_mode):
        # The folder itself is opened to the group; folders in it that are closer stay so.
        wanted = (SHARED_FOLDER if top else mode & SHARED_FOLDER | stat.S_ISGID) if group else FOLDER
    else:
        wanted = mode & (FILE | 0o100)
    if wanted != mode:
        path.chmod(wanted)


def _below(path: Path) -> Iterator[Path]:
    """The path, and all below it; some may be gone by now."""
    yield path
    if path.is_symlink():
        return
    for folder, folders, files in os.walk(path):
        yield from (Path(folder, name) for name in (*folders, *files))
