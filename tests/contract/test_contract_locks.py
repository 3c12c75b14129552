"""What is installed from a lock file is what the lock file names, whatever has been released since."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ["Makefile", "infra/Dockerfile", ".github/workflows/*.yml", "README.md", "docs/**/*.md", "clients/**/*.md"]
INSTALLS = re.compile(r"(?<!uv )pip install\b[^\n]*--require-hashes[^\n]*")


def installs() -> list[tuple[str, str]]:
    """Where `pip` installs from a lock file, and how. `uv` reads a pin with an extra right."""
    files = sorted({file for pattern in READ for file in ROOT.glob(pattern) if "node_modules" not in file.parts})
    return [
        (str(file.relative_to(ROOT)), found)
        for file in files
        for found in INSTALLS.findall(file.read_text(encoding="utf-8"))
    ]


def test_the_lock_of_the_demo_pins_what_the_developers_lock_pins() -> None:
    """Otherwise installing the second after the first would replace packages of a running pipeline."""
    of_demo, of_developers = (
        set(re.findall(r"^[\w.-]+==[\w.]+", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))
        for file in ("infra/run.lock", "requirements.lock")
    )

    assert of_demo
    assert of_demo <= of_developers


@pytest.mark.parametrize(("file", "command"), installs())
def test_pip_resolves_nothing_of_a_lock_file(file: str, command: str) -> None:
    """Else a new release of what another package wants with an extra ends every install (pypa/pip#9644)."""
    assert "--no-deps" in command
