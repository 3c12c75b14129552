"""Checks, builds, installs and runs what a tag would release.

    python -m infra.release --tag v0.2.0 --out dist

Needs git, and uv and hatchling in the environment that it runs in (`infra/build.lock` pins both).
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
# The distributions of a release, with their folders.
DISTRIBUTIONS = {
    "sager-streams": Path(),
    "sager-client": Path("clients/python"),
    "sager-language": Path("packages/language"),
}
SECTION = re.compile(
    r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?[^\n]*\n(?P<text>.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)


class CannotRelease(Exception):
    """The tag is not fit for a release, for these reasons."""


def sections(changelog: str) -> dict[str, tuple[str | None, str]]:
    """Date (none for `Unreleased`) and text of each changelog section."""
    return {found["name"]: (found["date"], found["text"].strip()) for found in SECTION.finditer(changelog)}


def problems(source: Path, tag: str) -> list[str]:
    """Everything that keeps a tag from being released, given its checked-out files."""
    version = tag.removeprefix("v")
    try:
        if not tag.startswith("v") or str(Version(version)) != version:
            return [f"the tag {tag!r} is not v and a normal version, such as v0.2.0 or v0.2.0rc1"]
    except InvalidVersion:
        return [f"the tag {tag!r} is not v and a version, such as v0.2.0"]

    found = []
    for name, folder in DISTRIBUTIONS.items():
        file = source / folder / "pyproject.toml"
        if not file.exists():
            found.append(f"{folder / 'pyproject.toml'} is missing: where is {name}?")
            continue
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        if (project["name"], project["version"]) != (name, version):
            found.append(
                f"{folder / 'pyproject.toml'} says {project['name']} {project['version']}, the tag says {version}"
            )

    changes = sections((source / "CHANGELOG.md").read_text(encoding="utf-8"))
    date, text = changes.get(version, (None, ""))
    if not text:
        found.append(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD` with what changes")
    elif not date:
        found.append(f"CHANGELOG.md: the section of {version} has no date")
    if changes.get("Unreleased", (None, ""))[1]:
        found.append("CHANGELOG.md: `Unreleased` still has text; it belongs into the section of this version")
    return found


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Return a command's output; CannotRelease if it fails."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SAGER_", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        printed = (done.stdout + done.stderr).strip()
        raise CannotRelease(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{printed}")
    return done.stdout.strip()


def build(source: Path, into: Path) -> list[Path]:
    """Build an sdist, and a wheel of it, reproducibly."""
    moment = run("git", "log", "-1", "--format=%ct", cwd=source)
    run(
        *(uv(), "build", "--quiet", "--no-build-isolation", "--python", sys.executable),
        *("--sdist", "--wheel", "--out-dir", into),
        cwd=source,
        SOURCE_DATE_EPOCH=moment,
    )
    return sorted(file for file in into.iterdir() if file.name.endswith((".whl", ".tar.gz")))


def uv() -> Path:
    """The uv of the environment that this runs in."""
    return Path(sys.executable).with_name("uv")


def installed(files: list[Path], at: Path) -> Path:
    """Install a wheel into a fresh environment; return its programs."""
    (wheel,) = (file for file in files if file.suffix == ".whl")
    run(uv(), "venv", "--quiet", "--python", sys.executable, at, cwd=at.parent)
    run(uv(), "pip", "install", "--quiet", "--python", at, wheel, cwd=at.parent)
    return at / "bin"


def try_streams(programs: Path, version: str, folder: Path) -> None:
    """Try an installed pipeline, without a broker and the sources."""
    printed = run(programs / "sager", "--version", cwd=folder)
    if printed != f"sager {version}":
        raise CannotRelease(f"`sager --version` says {printed!r} instead of {version}")
    run(programs / "sager", "schemas", "export", "--out", folder / "schemas", cwd=folder)
    schemas = sorted(path.name for path in (folder / "schemas").iterdir())
    if "asyncapi.json" not in schemas:
        raise CannotRelease(f"`sager schemas export` wrote no asyncapi.json, but {schemas}")
    print(f"sager-streams: {printed}; `sager schemas export` writes {len(schemas)} files")


def try_library(name: str, programs: Path, version: str, folder: Path) -> None:
    """Import a library alone, and compare its version with the tag's."""
    code = f"import {name.replace('-', '_')}; from importlib.metadata import version; print(version('{name}'))"
    installed = run(programs / "python", "-c", code, cwd=folder)
    if installed != version:
        raise CannotRelease(f"the installed {name} is {installed!r} instead of {version}")
    print(f"{name}: {installed} is importable")


def release(tag: str, out: Path | None, repository: Path = ROOT) -> None:
    """Do all of a release but publishing; CannotRelease if unfit."""
    with tempfile.TemporaryDirectory(prefix="sager-release-") as temporary:
        work = Path(temporary)
        source = work / "source"
        run("git", "clone", "--quiet", "--branch", tag, "--depth", "1", repository.as_uri(), source, cwd=work)
        wrong = problems(source, tag)
        if wrong:
            raise CannotRelease("\n".join(wrong))

        version = tag.removeprefix("v")
        for name, folder in DISTRIBUTIONS.items():
            files = build(source / folder, work / "dist" / name)
            for file in files:
                print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.stat().st_size:>9,}  {file.name}")
            empty = work / f"{name}-empty"
            empty.mkdir()
            programs = installed(files, work / f"{name}-venv")
            if name == "sager-streams":
                try_streams(programs, version, empty)
            else:
                try_library(name, programs, version, empty)

        _, notes = sections((source / "CHANGELOG.md").read_text(encoding="utf-8"))[version]
        (work / "dist" / "NOTES.md").write_text(f"{notes}\n", encoding="utf-8")
        if out:
            shutil.copytree(work / "dist", out, ignore=shutil.ignore_patterns(".gitignore"))
            print(f"{tag} is in {out}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Check, build, install and run what a tag would release.")
    parser.add_argument("--tag", required=True, help="an existing tag, such as v0.2.0")
    parser.add_argument("--out", type=Path, help="a new folder for what was built; without it nothing is kept")
    given = parser.parse_args()
    if given.out and given.out.exists():
        sys.exit(f"{given.out} is there already: remove it first")
    try:
        release(given.tag, given.out.resolve() if given.out else None)
    except CannotRelease as why:
        sys.exit(f"not fit for a release:\n{why}")


if __name__ == "__main__":
    main()
