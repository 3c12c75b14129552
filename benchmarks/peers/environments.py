"""Virtual environments of the peers, made when they are first needed, from whatever index pip is configured with."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

QUIX = "quixstreams==3.28.1"
MEM0 = "mem0ai==2.2.1"
OPERATORS_NEED = ("bpe-openai", "cramjam", "msgspec", "orjson", "phonenumberslite", "python-stdnum")
"""What the operators import besides pydantic, for which the peers have a range of their own."""
INSTALL_SECONDS = 900


class Unavailable(Exception):
    """A peer's environment cannot be made; the message says why and what to do."""


def folder() -> Path:
    """Where environments are kept by default."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sager-benchmarks"


def with_operators(peer: str) -> tuple[str, ...]:
    """A peer's package, and what the operators need at the versions that are installed here."""
    return (peer, *(f"{name}=={found}" for name in OPERATORS_NEED if (found := _installed(name))))


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def python(requirements: tuple[str, ...], place: Path) -> Path:
    """The interpreter of an environment with these packages, made unless it is there.

    Args:
        requirements: pinned; the first names the peer.
        place: the folder that holds all environments, made for this user alone.

    Raises:
        Unavailable: it cannot be made.
    """
    digest = hashlib.blake2b("\n".join((*requirements, sys.version)).encode(), digest_size=6).hexdigest()
    home = place / f"{requirements[0].replace('==', '-')}-{digest}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (place / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            _make(requirements, home)
    return home / "bin" / "python"


def _make(requirements: tuple[str, ...], home: Path) -> None:
    print(f"making {home} with {', '.join(requirements)}: once, about a minute", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(home)], requirements[0])
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    _run([str(home / "bin" / "python"), *install], requirements[0])
    home.chmod(0o700)
    (home / "ready").touch()


def _run(command: list[str], peer: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{peer} cannot be installed: {error}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise Unavailable(
            f"{peer} cannot be installed: {' '.join(last)}. Is pip's index configured, and does it have it?"
        )
