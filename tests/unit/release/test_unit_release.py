"""What keeps a tag from being released. Building and installing is `make release-check`, which needs an index."""

from pathlib import Path

import pytest

from infra.release import DISTRIBUTIONS, problems, sections

CHANGELOG = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added
- A thing.

## [0.1.0] - 2026-11-22

The first one.
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, folder in DISTRIBUTIONS.items():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "pyproject.toml").write_text(f'[project]\nname = "{name}"\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_a_consistent_tag_is_accepted(source: Path) -> None:
    assert problems(source, "v0.2.0") == []


@pytest.mark.parametrize("folder", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
def test_a_distribution_that_was_not_bumped_is_found(source: Path, folder: Path) -> None:
    file = source / folder / "pyproject.toml"
    file.write_text(file.read_text().replace("0.2.0", "0.1.0"))

    (problem,) = problems(source, "v0.2.0")

    assert str(folder / "pyproject.toml") in problem


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("## [0.2.0] - 2026-12-01", "## [0.2.0]", "no date"),
        ("### Added\n- A thing.\n", "", "no section"),
        ("## [0.2.0] - 2026-12-01\n\n### Added\n- A thing.\n", "", "no section"),
        ("## [Unreleased]\n", "## [Unreleased]\n\n- Forgotten here.\n", "Unreleased"),
    ],
)
def test_an_incomplete_changelog_is_found(source: Path, before: str, after: str, told: str) -> None:
    assert before in CHANGELOG
    (source / "CHANGELOG.md").write_text(CHANGELOG.replace(before, after))

    (problem,) = problems(source, "v0.2.0")

    assert told in problem


def test_the_changelog_of_this_project_is_readable() -> None:
    found = sections((Path(__file__).parents[3] / "CHANGELOG.md").read_text(encoding="utf-8"))

    assert found["0.1.0"][0] == "2026-11-26"
    assert found["0.1.0"][1].startswith("The first release")
