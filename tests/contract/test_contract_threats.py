"""docs/threat-model.md and docs/rights.md beside the code: every topic, scope, role, process and way in has its row."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas import TOPICS
from streams.http.tokens import Scope
from streams.operations.acls import ROLES, KafkaRole, grants
from streams.settings import Settings
from tests.contract.test_contract_docs import ROOT, table

PAGE = ROOT / "docs" / "threat-model.md"
TEXT = PAGE.read_text(encoding="utf-8")


def rows(first_column: str) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in table(PAGE, first_column)}


def test_every_topic_has_its_row_with_those_who_may_write_it() -> None:
    settings = Settings()
    may = {
        base: {
            role.value
            for role in KafkaRole
            for grant in grants(role, settings)
            if grant.operation == "Write" and grant.name == topic.name(settings.prefix)
        }
        for base, topic in TOPICS.items()
    }

    assert {base: set(row[0].split(", ")) for base, row in rows("topic").items()} == may


def test_every_scope_has_its_row() -> None:
    assert list(rows("scope")) == list(Scope)


def test_every_process_of_the_deployment_has_its_row() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]

    assert {name.partition(" ")[0] for name in rows("process")} == set(services)


@pytest.mark.parametrize("role", list(ROLES))
def test_every_role_on_kafka_has_its_row(role: KafkaRole) -> None:
    assert [who for who in rows("who") if role.value in re.findall(r"[a-z]+", who)] != []


def test_no_cell_of_the_first_three_columns_is_empty() -> None:
    for first in ("topic", "scope", "process", "who"):
        assert [row for row in rows(first).values() if not all(cell.strip(" |") for cell in row[:2])] == []


def test_every_test_that_it_names_is_there() -> None:
    named = re.findall(r"`(tests/[a-z0-9_/]+\.py)`", TEXT)

    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


ROOT = Path(__file__).parents[2]
RIGHTS = (ROOT / "docs/rights.md").read_text(encoding="utf-8")


def test_every_topic_that_keeps_a_person_for_a_while_is_told_with_how_long() -> None:
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) days \|$", RIGHTS, re.MULTILINE))
    kept = {
        topic.base: str(topic.retention // timedelta(days=1))
        for topic in TOPICS.values()
        if topic.retention is not None
    }

    assert listed == kept


def test_topics_of_persons_that_are_kept_for_ever_are_compacted() -> None:
    """Only from those a tombstone takes something away."""
    assert [topic.base for topic in TOPICS.values() if topic.retention is None and not topic.compact] == []


def test_every_right_names_tests_that_there_are() -> None:
    named = re.findall(r"`(tests/[a-z_/.]+)`", RIGHTS)

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


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
