"""Keeps files and folders with users' data private.

Folders are 0700 and files at most 0640. With `SAGER_GROUP`, folders are 2750 of that group, so that new files in them
belong to it. The umask protects new files, `restrict` existing ones.
"""

import logging
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from streams.exceptions import StreamsError

FOLDER, SHARED_FOLDER, FILE = 0o700, 0o2750, 0o640
# The contents of a data folder. A folder with other files is shared, and only our own files in it are restricted.
OURS = (
    *("live.duckdb*", "sager.duckdb*", "spill", "worker", "journal", "logs", "replays", "quality*"),
    *("pseudonyms.key*", "token", "tokens.toml", "*.log", "*.log.1"),
)

log = logging.getLogger(__name__)


def set_umask(group: str | None = None) -> int:
    """Make this process's new files private; return the previous umask."""
    return os.umask(0o027 if group else 0o077)


def make_private(folder: Path, group: str | None = None) -> Path:
    """Create a private folder and its missing parents; leave existing ones."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        # Keep the inherited group bit.
        each.chmod(FOLDER | each.stat().st_mode & stat.S_ISGID)
    if missing and group:
        give_to_group(folder, group)
        folder.chmod(SHARED_FOLDER)
    return folder


def give_to_group(path: Path, group: str) -> None:
    """Give a file or folder to a group, by name or number."""
    try:
        shutil.chown(path, group=int(group) if group.isdecimal() else group)
    except LookupError:
        raise StreamsError(f"SAGER_GROUP={group}: there is no such group on this machine") from None
    except PermissionError as error:
        raise StreamsError(
            f"SAGER_GROUP={group}: {path} cannot be given to it. Make this process's user a member of that group"
        ) from error


def restrict(folder: Path, group: str | None = None, ours: Iterable[str] = ()) -> None:
    """Restrict an existing data folder and its contents.

    Links and other users' files are skipped. In an open folder with foreign files, only our files are restricted;
    `ours` are further name patterns.
    """
    folder = folder.resolve()
    found = sorted(folder.iterdir())
    foreign = [each for each in found if not any(fnmatch(each.name, name) for name in (*OURS, *ours))]
    is_shared_folder = folder.stat().st_mode & stat.S_ISVTX or folder in (Path("/"), Path.home())
    if _is_exposed(folder, group) and (foreign or is_shared_folder):
        log.warning(
            "%s is open to others and holds other files (%s): only our own files in it are made private. Close it with "
            "chmod 700, or name a folder of its own with SAGER_DATA_DIR or SAGER_DUCKDB",
            *(folder, ", ".join(each.name for each in foreign[:3]) or "of any user"),
        )
        found = [each for each in found if each not in foreign]
    else:
        _restrict_mode(folder, group, top=True)
    for each in found:
        for path in _below(each):
            with suppress(FileNotFoundError):  # another process may remove files meanwhile
                _restrict_mode(path, group)


def exposed(folder: Path, group: str | None = None) -> Iterator[Path]:
    """Yield all paths from the folder on that others can reach."""
    for path in _below(folder.resolve()):
        with suppress(FileNotFoundError):
            if _is_exposed(path, group):
                yield path


def is_private(file: Path) -> bool:
    """Return True if only owner and group can reach a secret's file."""
    return not stat.S_IMODE(file.stat().st_mode) & ~(FILE | 0o100)


def _is_exposed(path: Path, group: str | None) -> bool:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return False
    allowed_mode = (SHARED_FOLDER if group else FOLDER) if stat.S_ISDIR(mode) else FILE | 0o100
    return bool(mode & ~allowed_mode & 0o777)


def _restrict_mode(path: Path, group: str | None, *, top: bool = False) -> None:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        return
    mode = stat.S_IMODE(status.st_mode)
    if group:
        give_to_group(path, group)
    if stat.S_ISDIR(status.st_mode):
        # Only the top folder is opened to the group; stricter folders in it stay strict.
        wanted = (SHARED_FOLDER if top else mode & SHARED_FOLDER | stat.S_ISGID) if group else FOLDER
    else:
        wanted = mode & (FILE | 0o100)
    if wanted != mode:
        path.chmod(wanted)


def _below(path: Path) -> Iterator[Path]:
    """Yield the path and everything below it; some may be gone meanwhile."""
    yield path
    if not path.is_symlink():
        for folder, folders, files in os.walk(path):
            yield from (Path(folder, name) for name in (*folders, *files))
