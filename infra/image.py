"""Does what infra/Dockerfile says, without Docker: its build stage in an empty folder, then what the image is for.

    python -m infra.image

Every absolute path of its instructions is laid under that folder; `python` there is a fresh environment of the same
version as the base image's. What remains for the second stage is only what it copies. From that, as user 10001 where
we are root, it runs `sager --help`, `sager config`, and the services of docker-compose.yml against the embedded broker.

Not done: the base image itself, the second stage's RUN (it makes the user), labels, and Docker's own cache and layers.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.compose import ROOT
from infra.dockerfile import FILE, Stage, stages
from infra.running import USER, Running
from streams.local.broker import EmbeddedBroker

ABSOLUTE = re.compile(r"(?<![\w./$-])/(?=\w)")
MACHINE = re.compile(r"(PIP|UV)_\w+|\w*_proxy|SSL_CERT_\w+", re.IGNORECASE)
"""What reaches the commands of this machine's environment: how it gets at packages."""
CACHES = {"PIP_NO_CACHE_DIR", "UV_NO_CACHE", "UV_LINK_MODE"}
"""What the image sets and is not wanted here: packages that this machine has already are not fetched again."""


def main() -> int:
    """Build and run; says how long each step took, and how large the result is."""
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
    """The stage's COPY and RUN, in their order, in the folder that WORKDIR names."""
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
    """The top folders that the last stage takes over from the build; they stay where they are."""
    kept = set()
    for rest in stage.of("COPY"):
        _, source, target = rest.split()
        if source != target:
            raise SystemExit(f"COPY {rest}: an environment only works where it was made")
        kept.add(root / Path(source).parts[1])
    return kept


def _environment(stage: Stage, root: Path, path: str) -> dict[str, str]:
    told = {name: value for name, value in stage.environment.items() if name not in CACHES}
    machine = {name: value for name, value in os.environ.items() if MACHINE.fullmatch(name)}
    home = {"HOME": os.environ.get("HOME", "/")}  # where the caches of packages are
    return {
        # uv would trust nobody but its own list of authorities otherwise.
        "UV_NATIVE_TLS": "true",
        **machine,
        **home,
        "PATH": path,
        # Our own settings name what are volumes: each service has its own, see `infra.running`.
        **{
            name: value if name.startswith("SAGER_") else _rooted(value, root).replace("$PATH", path)
            for name, value in told.items()
        },
    }


def _rooted(text: str, root: Path) -> str:
    return ABSOLUTE.sub(f"{root}/", text)


def _base_python(image: str) -> str:
    """A Python of the image's version, if possible one that other users may run."""
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
