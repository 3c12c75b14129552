#!/usr/bin/env python3
"""Finds or fetches Prometheus and promtool for tests.

From a shell::

    python infra/prometheus/get.py          # prints the folder with both programs

The package is unpacked into a folder of this repository that git ignores; nothing is installed or started.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".prometheus"
PROGRAMS = ("prometheus", "promtool")


class PrometheusUnavailable(RuntimeError):
    """Neither installed nor available from Debian's mirrors. A test may skip."""


def find() -> Path | None:
    """The folder with both programs, if they are on this machine."""
    installed = shutil.which(PROGRAMS[0])
    folders = [Path(installed).resolve().parent] if installed else []
    folders.append(CACHE / "usr" / "bin")
    return next((folder for folder in folders if all((folder / name).is_file() for name in PROGRAMS)), None)


def get() -> Path:
    """The folder with both programs, downloaded at first (19 MB)."""
    return find() or _fetch()


def _fetch() -> Path:
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise PrometheusUnavailable(f"there is no {missing[0]}: install Prometheus and promtool into your PATH")
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetch-") as scratch:
        packages = _download(Path(scratch))
        fresh = Path(scratch, "unpacked")
        _run("dpkg-deb", "--extract", str(packages[0]), str(fresh))
        try:
            (fresh / "usr").rename(CACHE / "usr")
        except OSError:
            if find() is None:  # otherwise another process was faster, with the same package
                raise
    return CACHE / "usr" / "bin"


def _download(folder: Path) -> list[Path]:
    try:
        _run("apt-get", "download", "prometheus", cwd=folder)
    except PrometheusUnavailable:
        # The package lists are missing or outdated.
        _run("apt-get", "--quiet", "update")
        _run("apt-get", "download", "prometheus", cwd=folder)
    return list(folder.glob("*.deb"))


def _run(*command: str, cwd: Path | None = None) -> None:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if result.returncode:
        raise PrometheusUnavailable(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}".rstrip())


if __name__ == "__main__":
    try:
        print(get())
    except PrometheusUnavailable as error:
        sys.exit(str(error))
