"""The published file and what it was before: each publication goes into a file that nobody reads any more.

A published file is never changed: an open reader keeps it while the next one takes its name. It then becomes a spare.
Once its last reader has closed it, it needs only the blocks that have changed since to be the newest again. Where no
spare is free, or the file system cannot tell, the live file is copied whole.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from streams import private
from streams.materializer import patch
from streams.materializer.exceptions import MaterializerError
from streams.materializer.read import strays

COPY_SECONDS = 600.0
"""Time limit for a copy."""

SPARES = 2
"""How many earlier files are kept to be patched."""

SMALL = 32 * 1024 * 1024
"""A file below this size is copied whole, and no spare of it is kept."""

READ_ONLY = private.FILE & 0o444
"""A snapshot's mode. Its owner, too, only reads it."""

_PYTHON_COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"


class Generations:
    """Publishes a live file under the target's name, while nobody checkpoints it.

    Args:
        live: the file to publish.
        target: the file that analysts open.
        group: who may read it besides its owner.
        spares: how many earlier files are kept.
    """

    def __init__(self, live: Path, target: Path, group: str | None = None, spares: int = SPARES) -> None:
        self._live, self._target, self._group, self._most = live, target, group, spares
        # What an earlier process has published may hold what was forgotten since.
        self._may_reuse = False

    def publish(self) -> None:
        """Publishes the live file as it is now.

        Raises:
            MaterializerError: the copy failed; the published file is unchanged.
            OSError: the folder cannot be written.
        """
        private.make(self._target.parent, self._group)
        may_keep = self._most > 0 and self._live.stat().st_size >= SMALL
        if not (self._may_reuse and may_keep):
            self.forget()
        fresh = self._patched() or self._copied()
        try:
            if self._group:
                private.give(fresh, self._group)
            # Read-only, because the DuckDB command line opens read-write by default and leaves a .wal behind,
            # which makes every later snapshot of this name unreadable.
            fresh.chmod(READ_ONLY)
            for stray in strays(self._target):
                remove_stray(stray)
            if self._may_reuse:
                self._keep(besides=fresh)
            fresh.replace(self._target)
        finally:
            fresh.unlink(missing_ok=True)
        self._may_reuse = may_keep

    def forget(self) -> None:
        """Removes all spares; the published file goes, too, when the next one takes its name."""
        self._may_reuse = False
        for spare in self.spares():
            spare.unlink(missing_ok=True)

    def spares(self) -> list[Path]:
        """The spares, the oldest first."""
        begin = self._target.name + ".spare-"
        folder = self._target.parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        numbers = sorted(int(end) for name in names if (end := name.removeprefix(begin)) != name and end.isdecimal())
        return [self._target.with_name(f"{begin}{number}") for number in numbers]

    def _copied(self) -> Path:
        """A whole copy, in a new file."""
        fresh = self._target.with_name(self._target.name + ".tmp")
        copy(self._live, fresh)
        return fresh

    def _patched(self) -> Path | None:
        """The first spare that nobody has open, patched; None if there is none."""
        spares = self.spares()
        if not spares:
            return None
        done = _run([sys.executable, "-I", "-S", patch.__file__, str(self._live), *map(str, spares)], self._live)
        if done.returncode == 0:
            return spares[int(done.stdout)]
        if done.returncode == patch.IMPOSSIBLE:
            self._most = 0
            self.forget()
        elif done.returncode != patch.IN_USE:
            raise _failed(f"could not bring a spare of {self._target} up to date", done)
        return None

    def _keep(self, besides: Path) -> None:
        """Makes the published file a spare, and removes the oldest ones where there are too many."""
        spares = [each for each in self.spares() if each != besides]
        for spare in spares[: max(0, len(spares) - self._most + 1)]:
            spare.unlink(missing_ok=True)
        if self._target.is_symlink():
            return
        last = self.spares()[-1:]
        number = 1 + int(last[0].name.rpartition("-")[2]) if last else 1
        with suppress(OSError):  # nothing published yet, or a file system without links
            # Both names are the same file until the next rename: `patch` touches no file with two names.
            os.link(self._target, self._target.with_name(f"{self._target.name}.spare-{number}"))


def copy_and_rename(live: Path, target: Path, group: str | None = None) -> None:
    """Copies the live file in a child process and replaces the published one with the copy; no spare is kept.

    Raises:
        MaterializerError: the copy failed; the published file is unchanged.
        OSError: the folder cannot be written.
    """
    Generations(live, target, group, spares=0).publish()


def remove_stray(stray: Path) -> None:
    """Removes a file, a link or an empty folder that has the name of a snapshot's write-ahead log."""
    if stray.is_dir() and not stray.is_symlink():
        stray.rmdir()
    else:
        stray.unlink(missing_ok=True)


def copy(source: Path, target: Path) -> None:
    """Copies a file in a child process into a new file that only its owner can read.

    Raises:
        MaterializerError: the copy failed.
        OSError: the new file cannot be made.
    """
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    # Never with Python's own file calls: closing a descriptor of the live file in this process drops DuckDB's lock.
    copier = [cp] if (cp := shutil.which("cp")) else [sys.executable, "-c", _PYTHON_COPY]
    try:
        done = _run([*copier, str(source), str(target)], source)
        if done.returncode:
            raise _failed(f"could not copy {source} to {target}", done)
    except BaseException:
        # A partial copy would take the space that the next one needs.
        target.unlink(missing_ok=True)
        raise


def _run(command: list[str], source: Path) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=COPY_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise MaterializerError(f"copying {source} took longer than {COPY_SECONDS:.0f} s") from error


def _failed(what: str, done: "subprocess.CompletedProcess[str]") -> MaterializerError:
    why = done.stderr.strip().rpartition("\n")[2] or f"the copying process ended with {done.returncode}"
    return MaterializerError(f"{what}: {why}")
