"""docs/threat-model.md next to the code: no topic, scope, role or process is without its row, and none is invented."""

import re

import pytest
import yaml

from schemas import TOPICS
from streams.http.tokens import Scope
from streams.operations.acls import ROLES, Role, grants
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
            for role in Role
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
def test_every_role_on_kafka_has_its_row(role: Role) -> None:
    assert [who for who in rows("who") if role.value in re.findall(r"[a-z]+", who)] != []


def test_no_cell_of_the_first_three_columns_is_empty() -> None:
    for first in ("topic", "scope", "process", "who"):
        assert [row for row in rows(first).values() if not all(cell.strip(" |") for cell in row[:2])] == []


def test_every_test_that_it_names_is_there() -> None:
    named = re.findall(r"`(tests/[a-z0-9_/]+\.py)`", TEXT)

    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []
