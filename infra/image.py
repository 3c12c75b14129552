"""Builds and tries infra/Dockerfile without Docker.

    python -m infra.image

Every absolute path of its instructions is placed under that folder; `python` is a fresh environment of the base image's
version. Only what the second stage copies remains. From that, as user 10001 when run as root, it runs `sager --help`,
`sager config`, and the services of docker-compose.yml against the embedded broker.

Not covered: the base image itself, the second stage's RUN (it creates the user), labels, and Docker's cache and layers.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from infra.compose import ROOT, USER, Running
from streams.local.broker import EmbeddedBroker

FILE = Path(__file__).with_name("Dockerfile")
KNOWN = {"CMD", "COPY", "ENTRYPOINT", "ENV", "FROM", "LABEL", "RUN", "STOPSIGNAL", "USER", "WORKDIR"}
ABSOLUTE = re.compile(r"(?<![\w./$-])/(?=\w)")
# Variables of this machine's environment that are passed on: those for downloading packages.
MACHINE = re.compile(r"(PIP|UV)_\w+|\w*_proxy|SSL_CERT_\w+", re.IGNORECASE)
# Variables of the image that are dropped, so that cached packages are not downloaded again.
CACHES = {"PIP_NO_CACHE_DIR", "UV_NO_CACHE", "UV_LINK_MODE"}


@dataclass(frozen=True)
class Stage:
    """One stage: each instruction with its arguments."""

    image: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def of(self, instruction: str) -> list[str]:
        """The arguments of each instruction of this kind."""
        return [rest for word, rest in self.instructions if word == instruction]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that ENV sets."""
        return dict(pair.split("=", 1) for rest in self.of("ENV") for pair in shlex.split(rest))


def stages(text: str) -> list[Stage]:
    """Return the stages; ValueError for an unsupported instruction."""
    without_comments = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    found: list[Stage] = []
    for line in without_comments.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word:
            continue
        if word not in KNOWN:
            raise ValueError(f"infra/Dockerfile: {word} is not supported by infra/image.py")
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            found.append(Stage(image, name))
        else:
            found[-1].instructions.append((word, " ".join(rest.split())))
    return found


def main() -> int:
    """Build and run; print times and the size."""
    first, last = stages(FILE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="sager-image-") as name:
        root = Path(name)
        root.chmod(0o755)
        python = _base_python(first.image)
        unprivileged = os.geteuid() == 0 and _reachable(python)
        _build(first, root, python)
        kept = _copied(last, root)
        for found in root.iterdir():
            if found not in kept:
                shutil.rmtree(found)
        environment = _environment(last, root, f"/usr/bin{os.pathsep}/bin")
        (entry,) = json.loads(last.of("ENTRYPOINT")[0])
        sager = shutil.which(entry, path=environment["PATH"])
        if sager is None:
            raise SystemExit(f"the image has no {entry}")
        with _step("sager --help and sager config"):
            for args in (["--help"], ["config"]):
                subprocess.run([sager, *args], env=environment, cwd="/", stdout=subprocess.DEVNULL, check=True)
        with _step("services"), EmbeddedBroker(root / "broker.log") as broker:
            overrides = {"SAGER_EMBEDDED": "true"}
            took = Running(root, broker.bootstrap, [sager], environment, unprivileged, overrides).all()
        print(", ".join(f"{service} healthy after {seconds:.0f} s" for service, seconds in took.items()))
        print(f"as user {USER if unprivileged else os.geteuid()}; {_megabytes(root / 'opt')} MB in /opt")
    return 0


def _build(stage: Stage, root: Path, python: str) -> None:
    """Run the stage's COPY and RUN in the WORKDIR's folder."""
    base = root / "usr" / "local"
    with _step("base image"):
        subprocess.run([python, "-m", "venv", str(base)], check=True)
    environment = _environment(stage, root, f"{base}/bin{os.pathsep}/usr/bin{os.pathsep}/bin")
    folder = root
    for word, rest in stage.instructions:
        if word == "WORKDIR":
            folder = root / rest.lstrip("/")
            folder.mkdir(parents=True)
        elif word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                _copy(ROOT / source, folder / target, whole=target.endswith("/"))
        elif word == "RUN":
            with _step(rest):
                subprocess.run(["/bin/sh", "-c", _rooted(rest, root)], cwd=folder, env=environment, check=True)


def _copy(source: Path, target: Path, *, whole: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        return
    into = target / source.name if whole else target
    into.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, into)


def _copied(stage: Stage, root: Path) -> set[Path]:
    """The top folders that the last stage copies."""
    kept = set()
    for rest in stage.of("COPY"):
        _, source, target = rest.split()
        if source != target:
            raise SystemExit(f"COPY {rest}: an environment works only at its original path")
        kept.add(root / Path(source).parts[1])
    return kept


def _environment(stage: Stage, root: Path, path: str) -> dict[str, str]:
    given = {name: value for name, value in stage.environment.items() if name not in CACHES}
    machine = {name: value for name, value in os.environ.items() if MACHINE.fullmatch(name)}
    home = {"HOME": os.environ.get("HOME", "/")}  # for the package caches
    return {
        # By default uv trusts only its own list of certificate authorities.
        "UV_NATIVE_TLS": "true",
        **machine,
        **home,
        "PATH": path,
        # The settings name volumes: each service has its own, see `infra.compose`.
        **{
            name: value if name.startswith("SAGER_") else _rooted(value, root).replace("$PATH", path)
            for name, value in given.items()
        },
    }


def _rooted(text: str, root: Path) -> str:
    return ABSOLUTE.sub(f"{root}/", text)


def _base_python(image: str) -> str:
    """A Python of the image's version, preferably executable by all."""
    version = ".".join(image.removeprefix("python:").split(".")[:2])
    names = [shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin"), getattr(sys, "_base_executable", "")]
    can = [name for name in names if name and _runs(name, version)]
    if not can:
        raise SystemExit(f"no Python {version} with venv and pip here, as {image} has")
    return can[0]


def _runs(python: str, version: str) -> bool:
    ask = "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def _reachable(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", ""], user=USER, group=USER, extra_groups=[], check=False).returncode == 0
    except PermissionError:
        return False


def _megabytes(folder: Path) -> int:
    return sum(found.stat().st_size for found in folder.rglob("*") if not found.is_symlink()) // 1_000_000


@contextmanager
def _step(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{time.monotonic() - started:5.1f} s  {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
