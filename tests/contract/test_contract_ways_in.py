"""What a newcomer meets first: a README of one page, an example that runs, workflows that do what they say."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAV = re.compile(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", re.MULTILINE)
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$")


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def read(workflow: Path) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    return document


def test_the_example_of_a_test_is_a_test_that_passes() -> None:
    (example,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    scope: dict[str, Any] = {}
    exec(example, scope)

    tests = [value for key, value in scope.items() if key.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def test_every_page_is_in_the_sites_navigation_once() -> None:
    """`make docs` refuses links that lead nowhere; this needs nothing but the files."""
    listed = NAV.findall((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    made_of_the_root = {"index.md", "contributing.md", "security.md", "changelog.md"}
    pages = {
        page.relative_to(ROOT / "docs").as_posix()
        for page in (ROOT / "docs").rglob("*.md")
        if "node_modules" not in page.parts
    }

    assert sorted(listed) == sorted(pages | made_of_the_root)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=name)
def test_every_action_is_pinned_to_a_commit_and_says_its_release(workflow: Path) -> None:
    used = [line.strip() for line in workflow.read_text(encoding="utf-8").splitlines() if "uses:" in line]

    assert used
    assert [line for line in used if not PINNED.search(line)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=name)
def test_a_job_has_a_time_limit_and_no_right_that_it_does_not_name(workflow: Path) -> None:
    content = read(workflow)

    assert content["permissions"] == {"contents": "read"}
    assert [job for job, body in content["jobs"].items() if "timeout-minutes" not in body] == []


def test_ci_runs_what_a_change_must_pass() -> None:
    steps = [
        step.get("run", "") for job in read(ROOT / ".github/workflows/ci.yml")["jobs"].values() for step in job["steps"]
    ]

    assert ".ci/run" in steps
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
